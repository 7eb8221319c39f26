// Package program starts programs that are killed with what they have started.
package program
