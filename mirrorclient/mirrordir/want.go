package mirrordir

import (
	"errors"
	"slices"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/verify"
)

// Want is one version of a provider that is to be in the mirror.
type Want struct {
	Provider addrs.Provider // whose packages they are
	Version  addrs.Version  // exactly this one

	// Platforms says for which platforms; empty: for all that the source lists.
	Platforms []addrs.Platform
}

// job is one version of a provider to be added.
type job struct {
	Want
	policy verify.Policy
	locked bool // by a lock file, whose hashes the policy accepts
}

// plan joins what is wanted twice and refuses what nobody can mirror.
func plan(wants []Want) ([]job, error) {
	var jobs []job
	index := map[address]int{}
	for _, w := range wants {
		if err := w.check(); err != nil {
			return nil, failed("mirror", w.String(), err)
		}
		k := address{provider: w.Provider, version: w.Version}
		i, ok := index[k]
		switch {
		case !ok:
			index[k] = len(jobs)
			w.Platforms = slices.Clone(w.Platforms)
			jobs = append(jobs, job{Want: w})
		case len(w.Platforms) == 0 || len(jobs[i].Platforms) == 0:
			jobs[i].Platforms = nil
		default:
			jobs[i].Platforms = append(jobs[i].Platforms, w.Platforms...)
		}
	}
	for i := range jobs {
		slices.SortFunc(jobs[i].Platforms, addrs.Platform.Compare)
		jobs[i].Platforms = slices.Compact(jobs[i].Platforms)
	}
	return jobs, nil
}

// String returns the provider and the version.
func (w Want) String() string { return w.Provider.String() + " " + w.Version.String() }

func (w Want) check() error {
	switch {
	case w.Provider.IsZero():
		return errors.New("no provider is given")
	case w.Provider.IsBuiltIn():
		return errors.New("the provider is part of OpenTofu itself")
	case w.Provider.IsLegacy():
		return errors.New("the address does not tell the provider's namespace")
	case w.Version.IsZero():
		return errors.New("no version is given")
	case slices.ContainsFunc(w.Platforms, addrs.Platform.IsZero):
		return errors.New("one of the platforms is none")
	}
	return nil
}
