// Package bench compares package inflate with compress/flate and github.com/klauspost/compress. It
// is a module of its own, so that the main module does not require the latter.
//
//	go test -bench .
package bench
