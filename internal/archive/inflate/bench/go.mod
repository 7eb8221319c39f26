module github.com/tofureg/tofureg/internal/archive/inflate/bench

go 1.26.0

require (
	github.com/klauspost/compress v1.20.3
	github.com/tofureg/tofureg v0.0.0
	golang.org/x/sys v0.49.0
)

replace github.com/tofureg/tofureg => ../../../..
