package main

import (
	"fmt"

	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/provider"
)

// moduleStep and providerStep show the progress: the packages that are done, and the bytes.
func (c *call) moduleStep(e module.Event) {
	switch e.Kind {
	case module.EventBytes, module.EventRestarted:
		c.bytes.set(e.Dir, e.Bytes, e.Total)
	case module.EventStored:
		c.done++
	}
	c.line.Show("%d packages, %s", c.done, c.bytes)
}

func (c *call) providerStep(e provider.Event) {
	switch e.Kind {
	case provider.EventBytes, provider.EventRestarted:
		c.bytes.set(e.Provider, e.Bytes, e.Total)
	case provider.EventInstalled, provider.EventHashed, provider.EventVerified:
		c.done++
	}
	c.line.Show("%d packages, %s", c.done, c.bytes)
}

// received are the bytes of several downloads, received and expected.
type received map[any][2]int64

// set replaces the bytes of a download. A total of 0 is unknown.
func (b received) set(download any, bytes, total int64) {
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
