"""The keys of vim and emacs for the prompt, as functions of a text and a cursor."""
