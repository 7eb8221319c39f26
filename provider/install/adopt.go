package install

import (
	"cmp"
	"context"

	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// adopt installs a package that its source holds unpacked.
func (i *installation) adopt(ctx context.Context, st *staging) (*Installed, error) {
	ev, err := i.evidence(ctx)
	if err != nil {
		return nil, err
	}
	r := &replica{
		content: content{ctx}, staging: st, from: i.from.Dir, how: cmp.Or(i.o.Link, Copy),
		typ: i.from.Provider.Type(), limits: i.o.Policy.Limits,
	}
	var report *verify.Report
	var h1 checksum.Hash
	finished, err := r.make(func(got checksum.Hash) (err error) {
		h1 = got
		report, err = i.o.Policy.Judge(ev, -1, []checksum.Hash{got})
		return err
	})
	if err != nil {
		return nil, failed("verify", i.from.String(), err)
	}
	done, err := i.settle(ctx, st, finished, h1)
	if err != nil {
		return nil, err
	}
	done.Report = report
	return done, nil
}
