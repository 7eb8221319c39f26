package install

import (
	"context"

	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// installUnpacked installs a package that the source has unpacked.
func (i *installation) installUnpacked(ctx context.Context, st *staging) (*Installed, error) {
	ev, err := i.evidence(ctx)
	if err != nil {
		return nil, err
	}
	p := &placement{
		staging: st, from: i.from.Dir, how: i.o.Link,
		typ: i.from.Provider.Type(), limits: i.o.Policy.Limits,
	}
	var report *verify.Report
	var h1 checksum.Hash
	finished, err := p.build(ctx, func(got checksum.Hash) (err error) {
		h1 = got
		report, err = i.o.Policy.Judge(ev, -1, []checksum.Hash{got})
		return err
	})
	if err != nil {
		return nil, failed("verify", i.from.String(), err)
	}
	done, err := i.publishUnlessPresent(ctx, st, finished, h1)
	if err != nil {
		return nil, err
	}
	done.Report = report
	return done, nil
}
