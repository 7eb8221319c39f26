package module

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/archive"
	"github.com/tofureg/tofureg/internal/flight"
	"github.com/tofureg/tofureg/verify/checksum"
)

// Request is a module for [DownloadAll] to fetch.
type Request struct {
	// Source is the module, with or without a directory in its package.
	Source addrs.ModuleSource

	// Version is the version to fetch. If zero, the newest version that Constraint
	// allows is fetched. The zero Constraint allows every release.
	Version    addrs.Version
	Constraint addrs.ModuleConstraint

	// Dir is the directory for the package alone. The request fails as ErrOccupied if
	// Dir equals the Dir of an earlier request, contains it, or is in it. Names that
	// differ only in case are equal.
	Dir string

	// H1 is the h1 hash that the package must have. If zero, any package is accepted.
	H1 checksum.Hash
}

// Result is the result of a [Request]. One of the fields is nil.
type Result struct {
	Report *Report // as [Download] returns it
	Err    error   // an [*Error], as [Download] returns it
}

// defaultParallel is used if Options.Parallel is not set.
const defaultParallel = 16

// DownloadAll fetches many modules at the same time, each as [Download] does, and returns
// the results in the order of the requests. A request that fails does not stop the others.
// The error joins the errors of all results. If ctx ends, unfinished requests fail.
//
// Each module takes three steps: versions, location, archive. If several requests need the
// same answer of the registry at the same time, the client of package
// [github.com/tofureg/tofureg/regclient] asks once.
func DownloadAll(ctx context.Context, src Source, requests []Request, o Options) ([]Result, error) {
	parallel := o.Parallel
	if parallel <= 0 {
		parallel = defaultParallel
	}
	o.Progress = flight.InTurn(o.Progress)
	results := make([]Result, len(requests))
	clashes := clashing(requests)
	var group errgroup.Group
	group.SetLimit(parallel)
	for i, r := range requests {
		if err := clashes[i]; err != nil {
			results[i] = Result{Err: failed("store", r.Source.String(), err)}
			continue
		}
		group.Go(func() error {
			results[i].Report, results[i].Err = download(ctx, src, r, o)
			return nil
		})
	}
	group.Wait()
	var errs []error
	for _, r := range results {
		errs = append(errs, r.Err)
	}
	return results, errors.Join(errs...)
}

// clashing finds the requests whose directory equals, contains or is in the directory of an
// earlier one: which package is there in the end would depend on timing.
func clashing(requests []Request) map[int]error {
	clashes := map[int]error{}
	dirs := make([]string, len(requests)) // with a separator at the end; empty: not usable
	for i, r := range requests {
		dir, err := cleanTarget(r.Dir)
		if err != nil {
			continue // the request fails by itself
		}
		dir = archive.Fold(dir) + string(filepath.Separator)
		other := slices.IndexFunc(dirs[:i], func(d string) bool {
			return d != "" && (strings.HasPrefix(d, dir) || strings.HasPrefix(dir, d))
		})
		if other >= 0 {
			clashes[i] = fmt.Errorf("%s: %w, as %s goes to %s", r.Dir, ErrOccupied, requests[other].Source, requests[other].Dir)
			continue
		}
		dirs[i] = dir
	}
	return clashes
}

// choose returns the version to fetch.
func (r Request) choose(ctx context.Context, src Lister) (addrs.Version, error) {
	if !r.Version.IsZero() {
		return r.Version, nil
	}
	versions, err := src.ModuleVersions(ctx, r.Source.Module)
	if err != nil {
		return addrs.Version{}, err
	}
	if versions == nil {
		return addrs.Version{}, errors.New("the source returned no list")
	}
	return versions.Newest(r.Constraint)
}
