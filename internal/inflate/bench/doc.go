// Package bench holds no code, only the benchmark that compares package inflate
// with compress/flate and with github.com/klauspost/compress, which is no
// dependency of the module above:
//
//	go test -bench .
package bench
