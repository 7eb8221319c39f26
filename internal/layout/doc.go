// Package layout has only tests. They compare the module with its documentation: the imports of each
// package, the comment of each exported name and its links, the tests that docs/threats.md names, and
// the code in README.md and docs/*.md, and the links and names in Markdown files.
package layout
