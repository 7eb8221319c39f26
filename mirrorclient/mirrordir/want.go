package mirrordir

import (
	"errors"
	"slices"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/verify"
)

// Want is one version of a provider that [Mirror.Add] adds.
type Want struct {
	Provider addrs.Provider // required
	Version  addrs.Version  // required

	// Platforms are the platforms to add. If empty, all that the source lists are added.
	Platforms []addrs.Platform
}

// job is one version of a provider that is to be added.
type job struct {
	Want
	policy verify.Policy
	locked bool // whether policy accepts the hashes of a lock file
}

// plan merges wants of the same version and refuses invalid wants.
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

// String returns provider and version.
func (w Want) String() string { return w.Provider.String() + " " + w.Version.String() }

func (w Want) check() error {
	switch {
	case w.Provider.IsZero():
		return errors.New("the provider is missing")
	case w.Provider.IsBuiltIn():
		return errors.New("the provider is part of OpenTofu itself")
	case w.Provider.IsLegacy():
		return errors.New("the provider address is a legacy one, without a namespace")
	case w.Version.IsZero():
		return errors.New("the version is missing")
	case slices.ContainsFunc(w.Platforms, addrs.Platform.IsZero):
		return errors.New("a platform is missing")
	}
	return nil
}
