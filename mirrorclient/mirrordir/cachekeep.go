package mirrordir

import (
	"context"
	"errors"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify/checksum"
)

// records returns what is on record about the archives of a version that are kept: those that
// have the size on record and that Policy accepts. What cannot be looked up is not kept.
func (c *Cache) records(ctx context.Context, p addrs.Provider, v addrs.Version) map[addrs.Platform]*record {
	h, err := c.Mirror.scanHome(ctx, p)
	if c.unread(ctx, p, err) != nil {
		return nil
	}
	kept := map[addrs.Platform]*record{}
	for _, platform := range h.platforms(v) {
		if rec := c.record(ctx, h, p, packageKey{v, platform}); rec != nil {
			kept[platform] = rec
		}
	}
	return kept
}

// record returns what is on record about an archive, nil if it is not kept.
func (c *Cache) record(ctx context.Context, h *holding, p addrs.Provider, k packageKey) *record {
	one, ok := h.packages[k]
	if !ok || one.name != archivePath(p, k) {
		return nil
	}
	rec, err := c.Mirror.readRecord(ctx, one.name)
	if c.unread(ctx, p, err) != nil || rec == nil || rec.Size != one.size || !rec.has(checksum.SchemeZH) {
		return nil
	}
	pkg := &provider.Package{Provider: p, Version: k.version, Platform: k.platform}
	if _, err := c.Policy.Judge(rec.evidence(pkg), rec.Size, rec.Hashes); err != nil {
		return nil
	}
	return rec
}

// kept returns the package that is kept, nil if it is not.
func (c *Cache) kept(ctx context.Context, p addrs.Provider, v addrs.Version, platform addrs.Platform) *provider.Package {
	k := packageKey{v, platform}
	found, err := c.Mirror.look(ctx, []string{archivePath(p, k)})
	if c.unread(ctx, p, err) != nil || c.record(ctx, holdingOf(p, found), p, k) == nil {
		return nil
	}
	pkg, err := c.Mirror.ProviderPackage(ctx, p, v, platform)
	if c.unread(ctx, p, err) != nil || pkg.Dir != "" {
		return nil
	}
	return pkg
}

// unread returns err, and logs it unless it only says that there is nothing.
func (c *Cache) unread(ctx context.Context, p addrs.Provider, err error) error {
	if err != nil && ctx.Err() == nil && !errors.Is(err, provider.ErrNotFound) {
		c.warn(ctx, "mirror cannot be read", "provider", p, "error", err)
	}
	return err
}

func (c *Cache) warn(ctx context.Context, text string, args ...any) {
	if c.Logger != nil {
		c.Logger.WarnContext(ctx, text, args...)
	}
}

// origin says where the archive of pkg comes from. It is asked by the only pull of what
// pkg states, so what the pull before it has kept is found.
func (c *Cache) origin(ctx context.Context, pkg *provider.Package, pulling, reading slots) (*origin, error) {
	if kept := c.kept(ctx, pkg.Provider, pkg.Version, pkg.Platform); kept != nil {
		o := asIsIn(c.Policy.Limits)
		o.Fetcher, o.pkg, o.pulling = c.Mirror, kept, reading
		return &o, nil
	}
	if pkg.URL == c.Mirror.url(canonicalName(pkg)) {
		// It was kept when the caller asked.
		var err error
		if pkg, err = c.upstream.ProviderPackage(ctx, pkg.Provider, pkg.Version, pkg.Platform); err != nil {
			return nil, err
		}
	}
	return &origin{Fetcher: c.Source, pkg: pkg, policy: c.Policy, pulling: pulling, keep: c.keep}, nil
}

// keep puts an archive into the mirror.
func (c *Cache) keep(ctx context.Context, got *arrival) {
	err := c.put(ctx, got)
	switch {
	case err != nil:
		c.warn(ctx, "package cannot be kept", "package", got.pkg.String(), "error", err)
	case c.Logger != nil:
		c.Logger.InfoContext(ctx, "package is kept", "package", got.pkg.String(), "size", got.Size)
	}
}

func (c *Cache) put(ctx context.Context, got *arrival) error {
	j := job{Want: Want{Provider: got.pkg.Provider, Version: got.pkg.Version}, policy: c.Policy}
	if err := j.check(); err != nil {
		return err
	}
	a := &adder{Mirror: c.Mirror, src: c.Source, report: func(provider.Event) {}}
	if err := a.prepare(ctx, []job{j}); err != nil {
		return err
	}
	unlock, err := a.lockVersion(ctx, j.Provider, j.Version)
	if err != nil {
		return err
	}
	defer unlock()
	v := &versionAdder{adder: a, job: &j}
	files, err := a.inventory(ctx, j.Provider, homeOf(j.Provider))
	if err != nil {
		return err
	}
	v.expect(files, []addrs.Platform{got.pkg.Platform})
	p, err := v.packageAdder(ctx, got.pkg.Platform, func() {})
	if err != nil {
		return err
	}
	if err := p.take(ctx, got); err != nil {
		return err
	}
	return v.publish(ctx)
}

// take puts an archive that has been fetched already into the mirror, unless somebody else
// was faster.
func (a *packageAdder) take(ctx context.Context, got *arrival) error {
	if added, err := a.keep(ctx); added != nil || err != nil {
		return err
	}
	a.pkg, a.asked = got.pkg, true
	rec, _, err := a.judge(ctx, &archiveFile{file: got.file, size: got.Size}, got.Evidence, got.ZH)
	if err != nil {
		return err
	}
	return a.place(ctx, stagedElsewhere{got.file, a.Storage}, rec)
}
