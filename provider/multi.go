package provider

import (
	"context"
	"errors"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/verify"
)

// Multi is a [Source] that combines sources by the rules of the OpenTofu CLI: a provider has
// the versions of all methods whose patterns select it, and the package of a version comes
// from the first method that has it. It is safe for concurrent use if its sources are.
//
// A method that does not have the provider, the version or the platform is skipped. Any other
// error ends the search. Use [FirstOf] for sources that replace each other.
type Multi struct {
	// Methods, in order of preference. ProviderPackage asks them in this order,
	// ProviderVersions all at once. If empty, nothing is found.
	Methods []Method

	// Skipped, if not nil, is called for each skipped method, with the reason. Calls of
	// concurrent searches may overlap.
	Skipped func(method string, err error)
}

var _ Source = (*Multi)(nil)

// ProviderVersions lists the versions of all methods that know p. Of a version that several
// methods list, it returns all protocols and platforms. The platforms are unknown if one of
// the methods does not list them.
//
// The error wraps a [*NoMethodError] if no method knows p. Otherwise it wraps the
// [*MethodError] of the first failure, which ends the search, or says why Methods are invalid.
func (m *Multi) ProviderVersions(ctx context.Context, p addrs.Provider) (*Versions, error) {
	s := &search{op: "list versions of", subject: p.String(), report: m.Skipped}
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
			s.skip(m.Methods[i].Name, a.err)
			continue
		}
		found = true
		union.add(m.Methods[i].Name, a.versions)
	}
	if !found {
		return nil, s.none()
	}
	slices.SortFunc(union.versions.List, func(a, b Release) int { return b.Version.Compare(a.Version) })
	return union.versions, nil
}

// answer is the result of a method. Its error is always a kind of ErrNotFound.
type answer struct {
	versions *Versions
	err      error
}

// listAll asks all methods concurrently. The first failure cancels the other requests.
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

// ProviderPackage returns the package of the first method that has it. If no method has it, the
// error wraps a [*NoMethodError]. Otherwise it wraps a [*MethodError].
func (m *Multi) ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, platform addrs.Platform) (*Package, error) {
	s := findSearch(p, v, platform, m.Skipped)
	notFound := func(err error) bool { return errors.Is(err, ErrNotFound) }
	return firstOf(ctx, s, m.Methods, p, notFound, func(m *Method) (*Package, error) { return m.find(ctx, p, v, platform) })
}

// Evidence calls the method that [Package.Via] names.
func (m *Multi) Evidence(ctx context.Context, pkg *Package) (verify.Evidence, error) {
	return evidence(ctx, m.Methods, pkg)
}

// Open calls the method that [Package.Via] names.
func (m *Multi) Open(ctx context.Context, pkg *Package) (*Body, error) {
	return open(ctx, m.Methods, pkg)
}

func findSearch(p addrs.Provider, v addrs.Version, platform addrs.Platform, report func(string, error)) *search {
	wanted := Package{Provider: p, Version: v, Platform: platform}
	return &search{op: "find", subject: wanted.String(), report: report}
}

// closest returns the error of the method that came closest to an answer. Faults, which only a
// [FirstOf] skips, come first.
func closest(skipped []MethodError) error {
	for _, rank := range []func(error) bool{
		IsFault,
		func(err error) bool { return errors.Is(err, ErrNoPlatform) },
		func(err error) bool { return errors.Is(err, ErrNoVersion) },
		func(err error) bool { return !errors.Is(err, ErrExcluded) },
	} {
		if i := slices.IndexFunc(skipped, func(e MethodError) bool { return rank(e.Err) }); i >= 0 {
			return skipped[i].Err
		}
	}
	if len(skipped) > 0 {
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
		have.Protocols = unite(have.Protocols, r.Protocols)
		if len(have.Platforms) == 0 || len(r.Platforms) == 0 {
			have.Platforms = nil // unknown to one of the two
			continue
		}
		have.Platforms = unite(have.Platforms, r.Platforms)
		slices.SortFunc(have.Platforms, addrs.Platform.Compare)
	}
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
