"""Resolution of import statements to files of the tree, by the rules of each language."""
