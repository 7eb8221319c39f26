package provider

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/verify"
)

// NamedSource is a source of a [Multi].
type NamedSource struct {
	Name     string // in [Package.Via] and in errors; unique, not empty
	Source   Source // also a [Multi]
	Patterns        // of the providers it is used for
}

// Multi is a [Source] that combines sources as the OpenTofu CLI does: a provider has the versions of all sources, and a
// package comes from the first source that has it. A source is skipped if its patterns exclude the provider, or if it
// lacks the provider, version or platform. Any other error ends the search.
type Multi struct {
	Sources []NamedSource // ProviderPackage asks them in this order, ProviderVersions all at once

	// Failover is for sources with the same content, such as two mirrors: also the list of versions comes from the first
	// source that answers. A source is skipped after a fault ([IsFault]) or ErrExcluded, also of all sources in it. Any
	// other error, also [failure.ErrNotFound], ends the search. Retries delay the next source: set
	// [github.com/tofureg/tofureg/transport.Settings.Retries] low.
	Failover bool

	Skipped func(source string, err error) // if not nil, called for each skipped source; calls of one search never overlap
}

var _ Source = (*Multi)(nil)

// ProviderVersions implements [Lister]. A version that several sources list has all their protocols and platforms, or no
// platforms if one of them lists none, and the latest of their dates. Held has the versions that no source lists, with
// the earliest Until. To hold back what another source lists, wrap the Multi.
//
// The error wraps the one that ended the search. If all sources were skipped, it lists their errors and wraps one of
// them: a fault, else ErrNoPlatform, [failure.ErrNoVersion] or [failure.ErrNotFound].
func (m *Multi) ProviderVersions(ctx context.Context, p addrs.Provider) (*Versions, error) {
	s := &search{op: "list versions of", subject: p.String(), tell: m.Skipped}
	if m.Failover {
		list, err := firstOf(ctx, s, m.Sources, p, skips, func(n *NamedSource) (*Versions, error) { return CheckAnswers(n.Source).ProviderVersions(ctx, p) })
		if err == nil && slices.ContainsFunc(s.skipped, IsFault) {
			own := *list
			own.Partial, list = true, &own
		}
		return list, err
	}
	if err := s.check(m.Sources); err != nil {
		return nil, err
	}
	// The first failure cancels the other requests.
	group, asking := errgroup.WithContext(ctx)
	lists, errs := make([]*Versions, len(m.Sources)), make([]error, len(m.Sources))
	for i := range m.Sources {
		source := &m.Sources[i]
		if errs[i] = source.accepts(p); errs[i] != nil {
			continue
		}
		group.Go(func() error {
			lists[i], errs[i] = CheckAnswers(source.Source).ProviderVersions(asking, p)
			if errs[i] != nil && (ctx.Err() != nil || !errors.Is(errs[i], failure.ErrNotFound)) {
				return s.failed(source.Name, errs[i])
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	union := &Versions{Provider: p}
	at := map[addrs.Version]int{} // index in union.Versions
	for i, list := range lists {
		name := m.Sources[i].Name
		if errs[i] != nil {
			s.skip(name, errs[i])
			continue
		}
		for _, text := range list.Warnings {
			union.Warnings = append(union.Warnings, name+": "+text)
		}
		for _, r := range list.Versions {
			if j, ok := at[r.Version]; ok {
				union.Versions[j].unite(&r)
				continue
			}
			at[r.Version] = len(union.Versions)
			union.Versions = append(union.Versions, r)
		}
		union.Partial = union.Partial || list.Partial
		union.Held = append(union.Held, list.Held...)
	}
	if len(s.skipped) == len(lists) {
		return nil, s.none()
	}
	slices.SortFunc(union.Versions, func(a, b Release) int { return b.Version.Compare(a.Version) })
	// Of each version that no source lists, the one with the earliest Until stays.
	union.Held = slices.DeleteFunc(union.Held, func(h Held) bool { _, listed := at[h.Release.Version]; return listed })
	slices.SortStableFunc(union.Held, func(a, b Held) int {
		if byVersion := b.Release.Version.Compare(a.Release.Version); byVersion != 0 || a.Until.IsZero() || b.Until.IsZero() {
			return cmp.Or(byVersion, b.Until.Compare(a.Until)) // an unknown one last
		}
		return a.Until.Compare(b.Until)
	})
	union.Held = slices.CompactFunc(union.Held, func(a, b Held) bool { return a.Release.Version == b.Release.Version })
	return union, nil
}

// unite adds the protocols and platforms of the same version in another source.
func (r *Release) unite(other *Release) {
	if other.Discovered.After(r.Discovered) {
		r.Discovered = other.Discovered
	}
	r.Protocols = unite(r.Protocols, other.Protocols)
	if len(r.Platforms) == 0 || len(other.Platforms) == 0 {
		r.Platforms = nil // unknown to one of the two
		return
	}
	r.Platforms = unite(r.Platforms, other.Platforms)
	slices.SortFunc(r.Platforms, addrs.Platform.Compare)
}

// unite returns the elements of a and b, each once, in a new slice.
func unite[T comparable](a, b []T) []T {
	a = slices.Clone(a)
	for _, x := range b {
		if !slices.Contains(a, x) {
			a = append(a, x)
		}
	}
	return a
}

// ProviderPackage implements [Lister]. Errors are as of ProviderVersions.
func (m *Multi) ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, platform addrs.Platform) (*Package, error) {
	s := &search{op: "find", subject: (&Package{Provider: p, Version: v, Platform: platform}).String(), tell: m.Skipped}
	skip := func(err error) bool { return errors.Is(err, failure.ErrNotFound) }
	if m.Failover {
		skip = skips
	}
	return firstOf(ctx, s, m.Sources, p, skip, func(n *NamedSource) (*Package, error) { return n.find(ctx, p, v, platform) })
}

// Evidence calls the source that [Package.Via] names.
func (m *Multi) Evidence(ctx context.Context, pkg *Package) (verify.Evidence, error) {
	source, inner, err := sourceOf(m.Sources, pkg)
	if err != nil {
		return verify.Evidence{}, err
	}
	return source.Evidence(ctx, inner)
}

// Open calls the source that [Package.Via] names.
func (m *Multi) Open(ctx context.Context, pkg *Package) (*Body, error) {
	source, inner, err := sourceOf(m.Sources, pkg)
	if err != nil {
		return nil, err
	}
	return CheckAnswers(source).Open(ctx, inner)
}

// skips reports whether a Multi with Failover asks the next source.
func skips(err error) bool { return IsFault(err) || errors.Is(err, ErrExcluded) }

// IsFault reports whether another source or a later attempt may succeed. Faults are a request without an answer (also for
// [failure.ErrOffline]), an interrupted answer, status 408, 429 or 5xx, a deadline before the next attempt, a timeout,
// and errors of the operating system. The end of the caller's context is not a fault.
func IsFault(err error) bool {
	for _, kind := range []error{failure.ErrNotFound, failure.ErrUnauthorized, failure.ErrInsecure, failure.ErrTooLarge, ErrProtocol, context.Canceled} {
		if errors.Is(err, kind) {
			return false
		}
	}
	if errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, fault.ErrNoTime) {
		return false
	}
	if e, ok := errors.AsType[*failure.RequestError](err); ok {
		const timeout, tooMany, server = 408, 429, 500
		switch {
		case e.Status == timeout, e.Status == tooMany, e.Status >= server:
			return true
		case e.Status == 0 && e.Attempts > 0:
			return true // no answer
		case e.Attempts == 0:
			return false // the request was not even made
		}
	}
	// Errors of the network and of the operating system have this method.
	_, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err)
	return ok || errors.Is(err, io.ErrUnexpectedEOF)
}

// search is a call of a Multi.
type search struct {
	op, subject string
	tell        func(source string, err error) // may be nil
	skipped     []error                        // of the sources, in this order
	texts       []string
}

// firstOf asks one source after the other. It skips errors for which skip returns true.
func firstOf[T any](ctx context.Context, s *search, sources []NamedSource, p addrs.Provider, skip func(error) bool, ask func(*NamedSource) (*T, error)) (*T, error) {
	if err := s.check(sources); err != nil {
		return nil, err
	}
	for i := range sources {
		source := &sources[i]
		err := source.accepts(p)
		if err == nil {
			var got *T
			if got, err = ask(source); err == nil {
				return got, nil
			}
			if ctx.Err() != nil || !skip(err) {
				return nil, s.failed(source.Name, err)
			}
		}
		s.skip(source.Name, err)
	}
	return nil, s.none()
}

// check returns an error if a source has no unique name or is nil.
func (s *search) check(sources []NamedSource) error {
	for i, n := range sources {
		reason := ""
		switch {
		case n.Name == "":
			reason = "has no name"
		case slices.ContainsFunc(sources[:i], func(o NamedSource) bool { return o.Name == n.Name }):
			reason = "has a duplicate name"
		case n.Source == nil:
			reason = "has no Source"
		}
		if reason != "" {
			return &failure.Error{Op: s.op, Subject: s.subject, Err: fmt.Errorf("source %d, %q, %s", i+1, n.Name, reason)}
		}
	}
	return nil
}

// skip records why a source was skipped.
func (s *search) skip(name string, err error) {
	s.skipped, s.texts = append(s.skipped, err), append(s.texts, sourceText(name, err))
	if s.tell != nil {
		s.tell(name, err)
	}
}

// failed returns the error of a search that a source has ended.
func (s *search) failed(name string, err error) error {
	return &failure.Error{Op: s.op, Subject: s.subject, Err: fault.Narrow("source "+sourceText(name, err), err)}
}

// sourceText returns the text of an error of a source, without what the error of the search repeats.
func sourceText(name string, err error) string {
	if inner, ok := err.(*failure.Error); ok && inner != nil {
		err = inner.Err
	}
	return fmt.Sprintf("%q: %v", name, err)
}

// none returns the error of a search that has skipped all sources. It wraps the error of the source
// that came closest to an answer. Faults, which only Failover skips, come first.
func (s *search) none() error {
	if len(s.skipped) == 0 {
		return &failure.Error{Op: s.op, Subject: s.subject, Err: fault.Narrow("there are no sources", failure.ErrNotFound)}
	}
	closest := ErrExcluded
	for _, rank := range []func(error) bool{
		func(err error) bool { return !errors.Is(err, ErrExcluded) },
		func(err error) bool { return errors.Is(err, failure.ErrNoVersion) },
		func(err error) bool { return errors.Is(err, ErrNoPlatform) },
		IsFault,
	} {
		if i := slices.IndexFunc(s.skipped, rank); i >= 0 {
			closest = s.skipped[i]
		}
	}
	text := "no source has it: "
	if !errors.Is(closest, failure.ErrNotFound) {
		text = "no source answers: "
	}
	return &failure.Error{Op: s.op, Subject: s.subject, Err: fault.Narrow(text+strings.Join(s.texts, "; "), closest)}
}

// accepts returns ErrExcluded if the patterns exclude p.
func (n *NamedSource) accepts(p addrs.Provider) error {
	if !n.Selects(p) {
		return ErrExcluded
	}
	return nil
}

// find returns the package of the source.
func (n *NamedSource) find(ctx context.Context, p addrs.Provider, v addrs.Version, platform addrs.Platform) (*Package, error) {
	pkg, err := CheckAnswers(n.Source).ProviderPackage(ctx, p, v, platform)
	if err != nil {
		return nil, err
	}
	// A copy, because the source may keep pkg.
	marked := *pkg
	marked.Via = append([]string{n.Name}, pkg.Via...)
	return &marked, nil
}

// sourceOf returns the source that has found pkg, and pkg with the Via of this source.
func sourceOf(sources []NamedSource, pkg *Package) (Source, *Package, error) {
	if pkg == nil {
		return nil, nil, pkg.fetchable()
	}
	s := &search{op: "fetch", subject: pkg.String()}
	if err := s.check(sources); err != nil {
		return nil, nil, err
	}
	if len(pkg.Via) == 0 {
		return nil, nil, failure.Wrap(s.op, pkg.String(), errors.New("the package does not name its source (Via is empty)"))
	}
	i := slices.IndexFunc(sources, func(n NamedSource) bool { return n.Name == pkg.Via[0] })
	if i < 0 {
		return nil, nil, failure.Wrap(s.op, pkg.String(), fmt.Errorf("unknown source %q in Package.Via", fault.Shown(pkg.Via[0], 200)))
	}
	inner := *pkg
	inner.Via = slices.Clip(pkg.Via[1:])
	return sources[i].Source, &inner, nil
}
