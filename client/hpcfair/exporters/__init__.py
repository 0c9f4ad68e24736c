"""From objects of other libraries to the files of a revision: a table line and a module each."""
