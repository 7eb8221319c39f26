package provider

import (
	"context"
	"errors"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/verify"
)

// Multi is a [Source] that combines others by the rules of the OpenTofu CLI: a
// provider has the versions of all methods whose patterns select it, and the package
// of a version comes from the first of them, in the order of the list, that has it.
// The order has no other meaning, and no pattern is more specific than another.
//
// A method that does not know the provider, the version or the platform (ErrNotFound
// and its kinds) is passed over. Any other error of a method ends the search, because
// the answer could be another one if the method worked; [FirstOf] is for sources that
// stand in for each other.
//
// [Package.Via] names the method that answered. Evidence and archive are fetched from
// that method, so a package goes together with the Multi that found it.
//
// Nothing is kept between calls. A Multi is safe for concurrent use if its sources are;
// its fields must not be changed meanwhile.
type Multi struct {
	// Methods are asked. If there are none, nothing is found.
	Methods []Method

	// Passed, if not nil, is told of each method that was passed over, and why,
	// in the order of the methods. Calls of concurrent searches may overlap.
	Passed func(method string, err error)
}

var _ Source = (*Multi)(nil)

// ProviderVersions lists the versions of all methods that know p, which are asked at
// the same time. Of a version that several list, the protocols are taken together; the
// platforms too, but are unknown if one of the methods does not tell them. Warnings
// have the name of their method before them.
//
// The error is an [*Error]. If no method knows p, it wraps a [*NoMethodError] and
// ErrNotFound; otherwise it wraps a [*MethodError], that of the method that failed
// first.
func (m *Multi) ProviderVersions(ctx context.Context, p addrs.Provider) (*Versions, error) {
	s := &search{op: "list versions of", subject: p.String(), report: m.Passed}
	if err := s.checkMethods(m.Methods); err != nil {
		return nil, err
	}
	answers, err := m.listAll(ctx, s, p)
	if err != nil {
		return nil, err
	}
	found := false
	union := union{at: map[addrs.Version]int{}, versions: &Versions{Provider: p}}
	for i, a := range answers {
		if a.err != nil {
			s.pass(m.Methods[i].Name, a.err)
			continue
		}
		found = true
		union.add(m.Methods[i].Name, a.versions)
	}
	if !found {
		return nil, s.none()
	}
	return union.sorted(), nil
}

// answer is what a method says. Its error is always a kind of ErrNotFound.
type answer struct {
	versions *Versions
	err      error
}

// listAll asks all methods side by side. The first one that fails, other than by not
// knowing p, stops the others, whose errors then only say so.
func (m *Multi) listAll(ctx context.Context, s *search, p addrs.Provider) ([]answer, error) {
	group, asking := errgroup.WithContext(ctx)
	answers := make([]answer, len(m.Methods))
	for i := range m.Methods {
		method, a := &m.Methods[i], &answers[i]
		if a.err = method.accepts(p); a.err != nil {
			continue
		}
		group.Go(func() error {
			a.versions, a.err = listFrom(asking, method.Source, p)
			if a.err != nil && (ctx.Err() != nil || !errors.Is(a.err, ErrNotFound)) {
				return s.failed(method.Name, a.err)
			}
			return nil
		})
	}
	return answers, group.Wait()
}

// ProviderPackage returns the package of the first method that has it.
//
// The error is an [*Error]. If no method has the package, it wraps a [*NoMethodError]
// and ErrNoPlatform, ErrNoVersion or ErrNotFound: the closest that a method came.
// Otherwise it wraps a [*MethodError].
func (m *Multi) ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, platform addrs.Platform) (*Package, error) {
	s := findSearch(p, v, platform, m.Passed)
	notFound := func(err error) bool { return errors.Is(err, ErrNotFound) }
	return firstOf(ctx, s, m.Methods, p, notFound, func(m *Method) (*Package, error) { return m.find(ctx, p, v, platform) })
}

// Evidence asks the method that [Package.Via] names. A name that is not among the
// methods is an [*Error].
func (m *Multi) Evidence(ctx context.Context, pkg *Package) (verify.Evidence, error) {
	return evidence(ctx, m.Methods, pkg)
}

// Open asks the method that [Package.Via] names. A name that is not among the methods
// is an [*Error].
func (m *Multi) Open(ctx context.Context, pkg *Package) (*Body, error) {
	return open(ctx, m.Methods, pkg)
}

func findSearch(p addrs.Provider, v addrs.Version, platform addrs.Platform, report func(string, error)) *search {
	wanted := Package{Provider: p, Version: v, Platform: platform}
	return &search{op: "find", subject: wanted.String(), report: report}
}

// closest returns the error of the method that came closest to an answer. A fault, which only
// a [FirstOf] passes over, is before all others.
func closest(passed []MethodError) error {
	for _, rank := range []func(error) bool{
		IsFault,
		func(err error) bool { return errors.Is(err, ErrNoPlatform) },
		func(err error) bool { return errors.Is(err, ErrNoVersion) },
		func(err error) bool { return !errors.Is(err, ErrExcluded) },
	} {
		if i := slices.IndexFunc(passed, func(e MethodError) bool { return rank(e.Err) }); i >= 0 {
			return passed[i].Err
		}
	}
	if len(passed) > 0 {
		return ErrExcluded
	}
	return ErrNotFound
}

// union collects the versions of several lists.
type union struct {
	versions *Versions
	at       map[addrs.Version]int // index in List
}

func (u *union) add(name string, v *Versions) {
	for _, text := range v.Warnings {
		u.versions.Warnings = append(u.versions.Warnings, name+": "+text)
	}
	for _, r := range v.List {
		i, ok := u.at[r.Version]
		if !ok {
			u.at[r.Version] = len(u.versions.List)
			u.versions.List = append(u.versions.List, r)
			continue
		}
		have := &u.versions.List[i]
		have.Protocols = both(have.Protocols, r.Protocols)
		if len(have.Platforms) == 0 || len(r.Platforms) == 0 {
			have.Platforms = nil // one of the two may have packages for any platform
			continue
		}
		have.Platforms = both(have.Platforms, r.Platforms)
		slices.SortFunc(have.Platforms, addrs.Platform.Compare)
	}
}

// both returns a list of what is in one of two, without changing either.
func both[T comparable](a, b []T) []T {
	a = slices.Clone(a)
	for _, x := range b {
		if !slices.Contains(a, x) {
			a = append(a, x)
		}
	}
	return a
}

func (u *union) sorted() *Versions {
	slices.SortFunc(u.versions.List, func(a, b Release) int { return b.Version.Compare(a.Version) })
	return u.versions
}
