// Package hostile tests all clients against hostile servers. It has only tests. A table lists all requests of the
// clients in this module, and each test makes one kind of failure for every row.
package hostile
