// Package program starts programs that can be killed together with the programs that they start.
package program
