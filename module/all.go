package module

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/flight"
	"github.com/tofureg/tofureg/verify/checksum"
)

// Request is one module that [DownloadAll] is to fetch.
type Request struct {
	// Source is the module, and perhaps a directory in its package.
	Source addrs.ModuleSource

	// Version to fetch. If it is zero, the newest one that Constraint allows is;
	// the zero ModuleConstraint allows every release.
	Version    addrs.Version
	Constraint addrs.ModuleConstraint

	// Dir is where the package goes, a directory for it alone. If it is that of an
	// earlier request, or one is within the other, the request fails as ErrOccupied.
	// Names that differ only in case count as one, as they are on some systems.
	Dir string

	// H1 is the hash that the package must have; zero: any will do.
	H1 checksum.Hash
}

// Result is what came of a [Request]: one of its fields is nil.
type Result struct {
	Report *Report // as [Download] returns it
	Err    error   // likewise, an [*Error]
}

// defaultParallel is what Options.Parallel 0 means.
const defaultParallel = 16

// DownloadAll fetches many modules side by side, each as [Download] does, and returns
// the results in the order of the requests. It does them all, whatever comes of the
// others; the error joins those of the results and is nil if all succeeded. If ctx
// ends, what has not been finished fails.
//
// A module that is not known yet takes the time of its versions, its location and its
// archive, one after the other; modules beside it take no longer, up to o.Parallel of
// them. What several ask of the registry at the same time is asked once, if the
// source shares requests, as the one of package regclient does.
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
			results[i] = Result{Err: failure("store", r.Source.String(), err)}
			continue
		}
		group.Go(func() error {
			results[i] = one(ctx, src, r, o)
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

func one(ctx context.Context, src Source, r Request, o Options) Result {
	if ctx.Err() != nil {
		return Result{Err: failure("fetch", r.Source.String(), ctx.Err())}
	}
	report, err := download(ctx, src, r, o)
	return Result{report, err}
}

// clashing finds the requests whose directories are those of earlier ones, or overlap
// with them: which package is there in the end would be a matter of chance.
func clashing(requests []Request) map[int]error {
	clashes := map[int]error{}
	at, below := map[string]int{}, map[string]int{} // who is at a directory, or somewhere in it
	for i, r := range requests {
		dir, err := cleanTarget(r.Dir)
		if err != nil {
			continue // it fails by itself
		}
		dir = strings.ToLower(strings.ToUpper(dir)) // so that letters with two lower cases are the same, too
		path := upwards(dir)
		other, ok := below[dir]
		for _, d := range path {
			if !ok {
				other, ok = at[d]
			}
		}
		if ok {
			clashes[i] = fmt.Errorf("%s: %w, as %s goes to %s", r.Dir, ErrOccupied, requests[other].Source, requests[other].Dir)
			continue
		}
		at[dir] = i
		for _, d := range path {
			below[d] = i
		}
	}
	return clashes
}

// upwards returns the directory and all above it.
func upwards(dir string) []string {
	path := []string{dir}
	for above := filepath.Dir(dir); above != dir; above = filepath.Dir(dir) {
		path = append(path, above)
		dir = above
	}
	return path
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
