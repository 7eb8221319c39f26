// Package layout checks the whole module: documents, floors, names. It has only tests. They compare the module with
// its documentation: the floors of packages and what each is meant for, the comment of each exported name and its links, the tests that
// docs/threats.md names, and the code in README.md and docs/*.md, and the links and names in Markdown files.
package layout
