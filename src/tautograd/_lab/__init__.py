"""The lessons of `taut lab`, and what teaches them.

A lesson is data: one file in `lessons/` that holds one `LESSON`, and a row in the table of
`lessons/__init__.py`. That is all; the terminal (`teacher`), the notebooks
(`notebook`) and the tests are derived from it. Its shape (`lesson.Lesson`, `questions`):

    LESSON = Lesson(
        name="accumulation",              as in the table
        title="Gradients add up",         a few words
        contract=("C4",),                 the rows of the contract it shows (`contract.ROWS`)
        idea=text(...),                   what it is about: a paragraph or three
        program=text(...),                the smallest program: says `import tautograd as torch`
        prints=text(...),                 exactly what it prints, on both engines
        predict=Number(...),              a question asked before the program is run
        seen=text(...),                   shown after the run: what to notice
        checks="loss",                    the function in the program whose gradient is verified
        breaks=Break(
            how=text(...),                what is changed, and why one would
            changes=(("old", "new"),),    texts in the program, each there once, and what they become
            prints=text(...),             exactly what the broken program prints, up to an error if
            raises="",                    it stops with one: a phrase of it
            doctor=("TG101",),            everything the doctor finds in it; () if it is not used
            verdict="wrong",              verify's verdict on `checks` in it
            means=text(...),              what that means
            hint=text(...),               shown on request while mending
            mended=text(...),             shown once it is mended: why that is right
        ),
        questions=(Choice(...), Number(...)),     two or three, at the end
        experiment=Experiment(...),       if there is an error worth seeing: a program that stops with it
        order=1,                          2 if the second derivative is verified as well
        several=False,                    True if `checks` gives several numbers: a picture is of their sum
    )

**Programs** are plain scripts that a learner can run directly. For PyTorch, only the line
`import tautograd as torch` changes, to `import torch`; what exists only in tautograd
(`from tautograd import check_gradients`) works for both. A program is run as
`__main__`, in the lesson's folder, and *imported* to be verified, so its top-level code runs then too:
keep it quick. `checks` names a function of tensors or an `nn.Module` class; beside it stands
`<name>_inputs` (a tuple, or a function that makes it). If the gradient that the program *uses* is not
what `backward()` of that function gives (a sum of several backwards, a formula, a custom engine), it goes
into `<name>.analytical`: a function of the same inputs that returns it. Verify then compares it
with backward and differences, and so does a replay of the evidence.

**Breaking and mending.** The mended program is the original one. `doctor` codes are what the doctor
must find in the broken one, and nothing in the mended one; with codes, the program must take optimizer
steps. `verdict` is the one in the broken program's evidence ("wrong", "cut" or "unclear"; "correct"
only if only the doctor sees the mistake); the mended one's is always "correct". A mended program must
print exactly `prints`, so print only what a good fix leaves unchanged.

**Questions.** `Number` takes one number or several, `Choice` a letter. `why` explains the answer and is
always shown in the end; `hint` helps on the way; `slips` are specific replies to likely wrong
answers. Texts are short, in plain words, and wrapped to the width of the terminal; lines that begin with
four spaces are shown verbatim, and ASCII is enough.
"""
