package mirrordir

import (
	"context"
	"slices"

	"github.com/tofureg/tofureg/addrs"
)

// late notes a version that was published by a listing which somebody else may have changed
// before the version was locked.
func (a *adder) late(v *versionAdder) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.again == nil {
		a.again = map[addrs.Provider][]*versionAdder{}
	}
	v.source = nil // is not needed any more, and there may be many
	a.again[v.job.Provider] = append(a.again[v.job.Provider], v)
}

// publishLate lists each provider once more and publishes what has come since the first
// listing. Mostly it is in the documents by then, for who has placed it has published it too;
// unless that was a process which has died.
func (a *adder) publishLate(ctx context.Context) (failures []failure) {
	for p, versions := range a.again {
		if ctx.Err() != nil {
			return failures // all that was wanted has been done or has failed
		}
		files, err := a.inventory(ctx, p, homeOf(p))
		if err != nil {
			failures = append(failures, failure{p.String(), failed("mirror", p.String(), err)})
			continue
		}
		versions = slices.DeleteFunc(versions, func(v *versionAdder) bool { return !v.missed(files) })
		errs := make([]error, len(versions))
		inParallel(2*cap(a.slots), len(versions), func(i int) {
			v := versions[i]
			v.names = append(v.names, files.archives[v.job.Version]...)
			errs[i] = v.publishAgain(ctx)
		})
		for i, v := range versions {
			if errs[i] != nil {
				failures = append(failures, failure{v.job.String(), failed("mirror", v.job.String(), errs[i])})
			}
		}
	}
	return failures
}

// missed reports whether there is an archive on record that publish has not looked at.
func (v *versionAdder) missed(files *inventory) bool {
	return slices.ContainsFunc(files.archives[v.job.Version], func(name string) bool {
		_, recorded := files.sizes[recordName(name)]
		return recorded && !slices.Contains(v.names, name)
	})
}

func (v *versionAdder) publishAgain(ctx context.Context) error {
	unlock, err := v.lockVersion(ctx, v.job.Provider, v.job.Version)
	if err != nil {
		return err
	}
	defer unlock()
	return v.publish(ctx)
}
