"""The lessons of `taut lab`, and what teaches them.

A lesson is data: one file in `lessons/` that holds one `LESSON`, and a row in the table of
`lessons/__init__.py`. Nothing else has to be written; the terminal (`teacher`), the notebooks
(`notebook`) and the tests are made from it. Its shape (`lesson.Lesson`, `questions`):

    LESSON = Lesson(
        name="accumulation",              as in the table
        title="Gradients add up",         a few words
        contract=("C4",),                 the rows of the contract it shows (`contract.ROWS`)
        idea=text(...),                   what it is about: a paragraph or three
        program=text(...),                the smallest program: says `import tautograd as torch`
        prints=text(...),                 exactly what it prints, on both engines
        predict=Number(...),              a question asked before the program is run
        seen=text(...),                   said when it has run: what to notice
        checks="loss",                    the function in the program whose gradient is verified
        breaks=Break(
            how=text(...),                what is changed, and why one would
            changes=(("old", "new"),),    texts in the program, each there once, and what they become
            prints=text(...),             exactly what the broken program prints, up to an error if
            raises="",                    it stops with one: a phrase of it
            doctor=("TG101",),            what the doctor finds in it, all of it; () if it is not asked
            verdict="wrong",              what verify says of `checks` in it
            means=text(...),              what that means
            hint=text(...),               for whoever is mending it and asks
            mended=text(...),             said when it is mended: why that is right
        ),
        questions=(Choice(...), Number(...)),     two or three, at the end
        experiment=Experiment(...),       if there is an error worth seeing: a program that stops with it
        order=1,                          2 if the second derivative is verified as well
        several=False,                    True if `checks` gives several numbers: a picture is of their sum
    )

**Programs** are plain scripts that a learner can run by themselves. The line
`import tautograd as torch` becomes `import torch` for PyTorch, and is the only one that does; what
is tautograd's alone (`from tautograd import check_gradients`) works for both. A program is run as
`__main__`, in the lesson's folder, and *imported* to be verified, so what it does at the top is done then too:
keep it quick. `checks` names a function of tensors or an `nn.Module` class; beside it stands
`<name>_inputs` (a tuple, or a function that makes it). The gradient that the program *uses*, where
that is not what `backward()` of that function gives (a sum of several backwards, a formula, an engine of
one's own), is `<name>.analytical`: a function of the same inputs that returns it. Verify then holds it
against backward and differences, and so does a replay of the evidence.

**Breaking and mending.** The mended program is the program. `doctor` codes are what the doctor must
find in the broken one, and nothing in the mended one; with codes, the program must take optimizer steps. `verdict` is
what the evidence of the broken one says ("wrong", "cut" or "unclear"; "correct" only where the doctor is the one
to see it); of the mended one it is always "correct". A mended program must print what `prints` says, so print what a
good mend does not change.

**Questions.** `Number` takes one number or several, `Choice` a letter. `why` explains the answer and is
always said in the end; `hint` helps on the way; `slips` are exact replies to the wrong answers one
would give. Texts are short, in plain words, and wrapped to the width of the terminal; lines that begin with
four spaces are shown as they stand, and ASCII is enough.
"""
