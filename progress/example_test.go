package progress_test

import (
	"fmt"
	"io"
	"strings"

	"github.com/tofureg/tofureg/progress"
)

// One bar for everything: a package counts when its transfer has begun, and is the same one when its names are.
func Example() {
	type work struct{ provider, platform, module, dir string }
	arrived, expected := map[work]int64{}, map[work]int64{}
	bar := func(e progress.Event) {
		w := work{e.Provider.String(), e.Platform.String(), e.Module.String(), e.Dir}
		arrived[w], expected[w] = e.Bytes, max(e.Bytes, e.Total)
		var have, want int64
		for w := range expected {
			have, want = have+arrived[w], want+expected[w]
		}
		fmt.Printf("%s: %d of %d bytes\n", e.Kind, have, want)
	}

	// An Installer, a module.Options and others send the events. This is what they do:
	m := progress.Meter{Event: progress.Event{Dir: "network"}, Report: bar}
	m.Start(11)
	io.Copy(io.Discard, io.TeeReader(strings.NewReader("an archive\n"), &m))
	m.Finish()
	m.Send(progress.Stored, nil)
	// Output:
	// bytes: 0 of 11 bytes
	// bytes: 11 of 11 bytes
	// stored: 11 of 11 bytes
}
