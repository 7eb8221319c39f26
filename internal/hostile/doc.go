// Package hostile holds no code, only the tests of what every client must stand: one
// table of all requests that the clients of this module make, and for each kind of
// trouble a test that makes it for every row of that table.
package hostile
