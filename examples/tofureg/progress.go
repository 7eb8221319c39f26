package main

import (
	"fmt"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/progress"
)

// transfer is a package that arrives, of a provider or of a module.
type transfer struct {
	provider addrs.Provider
	platform addrs.Platform
	dir      string
	version  addrs.Version
}

// step shows the progress: the packages that are done, and the bytes.
func (c *call) step(e progress.Event) {
	pkg := transfer{e.Provider, e.Platform, e.Dir, e.Version}
	switch e.Kind {
	case progress.Bytes, progress.Restarted:
		c.bytes.set(pkg, e.Bytes, e.Total)
	case progress.Stored, progress.Installed, progress.Hashed, progress.Verified:
		c.done[pkg] = true // a new provider is Verified and then Installed
	}
	c.line.Show("%d packages, %s", len(c.done), c.bytes)
}

// received are the bytes of several downloads, received and expected.
type received map[transfer][2]int64

// set replaces the bytes of a download. A total of 0 is unknown.
func (b received) set(download transfer, bytes, total int64) {
	b[download] = [2]int64{bytes, max(bytes, total)}
}

// String returns the sum, such as "1.5 of 20.0 MB".
func (b received) String() string {
	var sum [2]int64
	for _, n := range b {
		sum[0], sum[1] = sum[0]+n[0], sum[1]+n[1]
	}
	return fmt.Sprintf("%.1f of %.1f MB", float64(sum[0])/1e6, float64(sum[1])/1e6)
}
