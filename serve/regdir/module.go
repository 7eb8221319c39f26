package regdir

import (
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/archive"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/fsx"
	"github.com/tofureg/tofureg/internal/stored"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/module/lockfile"
	"github.com/tofureg/tofureg/verify/checksum"
)

// PublishModule publishes the package at a location as a version of a module. The location is of
// [module.ParseLocation], such as "/src/network" or "git::https://example.com/network.git?ref=v1.0.0". o must permit
// it; see [module.Options.AllowLocal] and [module.Options.Git]. [module.Download] has the rules for packages. The
// archive has the same bytes each time.
//
// Publishing the same content again changes nothing. If the version is published with other content, the error wraps
// [ErrExists] and names both h1. In the report Dir is empty. The error is a [*failure.Error].
func (r *Registry) PublishModule(ctx context.Context, m addrs.Module, v addrs.Version, loc *module.Location, o module.Options) (*module.Report, error) {
	report, err := r.fetchModule(ctx, nil, m, v, module.Request{Location: loc}, o)
	return report, failure.Wrap("publish", m.String()+" "+v.String(), err)
}

// CopyModules copies modules of the registry's host from src, in the versions that [module.Download] would choose.
// Packages must have [module.Request.H1], if it is set, as by [LockedModules]. Modules that the copied ones call must
// be requested too; a lock file has them. Dir is ignored, and empty in reports.
//
// A published version with the requested version and H1 is not fetched. If an upstream version has changed since it was
// copied, the error wraps [ErrExists]. The results are in the order of requests. A failed request does not stop the
// others. The error joins all errors.
func (r *Registry) CopyModules(ctx context.Context, src module.Source, requests []module.Request, o module.Options) ([]module.Result, error) {
	results, errs := make([]module.Result, len(requests)), make([]error, len(requests))
	_ = stored.Each(context.WithoutCancel(ctx), cmp.Or(max(o.Parallel, 0), parallel), len(requests), func(_ context.Context, n int) error {
		report, err := r.copyModule(ctx, src, requests[n], o)
		errs[n] = failure.Wrap("copy", requests[n].Source.String(), err)
		results[n] = module.Result{Report: report, Err: errs[n]}
		return nil
	})
	return results, fault.Join(errs...)
}

func (r *Registry) copyModule(ctx context.Context, src module.Source, request module.Request, o module.Options) (*module.Report, error) {
	i, err := r.moduleItem(request.Source.Module, request.Version)
	if err != nil {
		return nil, err
	}
	if !request.Version.IsZero() && !request.H1.IsZero() {
		rec, a, err := r.published(ctx, i, addrs.Platform{})
		if err == nil && rec.H1 == request.H1 {
			location := r.url(a.names(i)[0])
			return &module.Report{Module: request.Source.Module, Version: request.Version, Location: location, Subdir: rec.Subdir, H1: rec.H1, Reused: true}, nil
		}
	}
	// The directory is a part of the request, not of the package.
	request.Source.Subdir = ""
	return r.fetchModule(ctx, src, request.Source.Module, request.Version, request, o)
}

// fetchModule downloads a package and publishes it.
func (r *Registry) fetchModule(ctx context.Context, src module.Source, m addrs.Module, v addrs.Version, request module.Request, o module.Options) (*module.Report, error) {
	i, err := r.moduleItem(m, v)
	if err != nil {
		return nil, err
	}
	if request.Location != nil && v.IsZero() {
		return nil, errNoVersion
	}
	temp, err := os.MkdirTemp(r.TempDir, "tofureg-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temp)
	request.Dir = filepath.Join(temp, "package")
	report, err := module.Download(ctx, src, request, o)
	if err != nil {
		return nil, err
	}
	report.Dir, report.Module, report.Version = "", m, cmp.Or(report.Version, v)
	i.version = report.Version
	rec := &record{Release: i.String(), H1: report.H1, Subdir: report.Subdir}
	var f file
	if rec.Content, f, err = pack(ctx, request.Dir); err != nil {
		return nil, err
	}
	name := i.archive(addrs.Platform{}, rec.Subdir)
	rec.Archives = []packed{{File: name, Size: f.size, Hashes: []checksum.Hash{f.zh}}}
	return report, r.publish(ctx, i, rec, "", map[string]file{name: f})
}

// pack returns the archive of a directory and a digest of names, contents, modes and empty directories, which does not
// depend on how the archive is compressed.
func pack(ctx context.Context, dir string) (content string, f file, err error) {
	tree := sha256.New()
	f.write = func(ctx context.Context, w io.Writer) error {
		root, err := fsx.OpenRoot(dir)
		if err != nil {
			return err
		}
		defer root.Close()
		z := gzip.NewWriter(w)
		tree.Reset()
		return errors.Join(archive.WriteTree(io.MultiWriter(z, tree), fsx.Tree(ctx, root), func(string) bool { return false }), z.Close())
	}
	packed := &counter{Hash: sha256.New()}
	err = f.write(ctx, packed)
	f.size, f.zh = packed.n, checksum.ZHSum([32]byte(packed.Sum(nil)))
	return hex.EncodeToString(tree.Sum(nil))[:digestLen], f, err
}

// counter also counts what is written.
type counter struct {
	hash.Hash
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return c.Hash.Write(p)
}

// LockedModules returns requests for the modules of host in a lock file, with version and hash. The other entries are
// those that [Registry.CopyModules] cannot copy: of other hosts, of git and other locations, and with an expression in
// place of a source or constraint. Sources without a host have byDefault. A zero host is [addrs.DefaultHost]. A nil
// lock file is empty.
func LockedModules(lock *lockfile.File, host, byDefault svchost.Hostname) (requests []module.Request, others []lockfile.Entry) {
	r := &Registry{Host: host}
	seen := map[string]bool{}
	for e := range lock.All() {
		address, err := module.ParseAddressIn(byDefault, e.Key.Source)
		m := address.Registry.Module
		if err != nil || e.Key.Evaluated != "" || m.IsZero() || m.Host() != r.host() {
			others = append(others, e)
			continue
		}
		id := fmt.Sprint(m, e.Version, e.Hash)
		if !seen[id] {
			seen[id] = true
			requests = append(requests, module.Request{Source: addrs.ModuleSource{Module: m}, Version: e.Version, H1: e.Hash})
		}
	}
	return requests, others
}
