package provider

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/verify"
)

// Method is one of the sources that a [Multi] or a [FirstOf] asks, and the providers
// that it is asked for. It is what the OpenTofu CLI calls an installation method.
type Method struct {
	// Name tells the methods apart, in [Package.Via] and in errors. It must be
	// given, must differ from the names of the others, and must not contain " > ".
	Name string

	// Source is asked. It may be a [Multi] or a [FirstOf] itself; the names in
	// [Package.Via] are then joined by " > ", the outer one first.
	Source Source

	// Include and Exclude select the providers that Source is asked for. A
	// provider must match a pattern of Include, unless that is empty, and none of
	// Exclude.
	Include, Exclude []Pattern
}

// ErrExcluded is why a method was not asked: its patterns leave the provider out. It
// is a kind of ErrNotFound.
var ErrExcluded = fault.Narrow("left out by the method's patterns", fault.ErrNotFound)

// accepts returns nil if the method is to be asked for p, otherwise ErrExcluded.
func (m *Method) accepts(p addrs.Provider) error {
	matches := func(pattern Pattern) bool { return pattern.Matches(p) }
	if len(m.Include) > 0 && !slices.ContainsFunc(m.Include, matches) || slices.ContainsFunc(m.Exclude, matches) {
		return ErrExcluded
	}
	return nil
}

// MethodError is the failure of one method.
type MethodError struct {
	Method string // its name
	Err    error  // what its source returned, or ErrExcluded
}

// Error returns the name and the cause. What the source was to do is left to the error
// around this one.
func (e *MethodError) Error() string { return "method " + e.text() }

func (e *MethodError) text() string {
	cause := e.Err
	if inner, ok := cause.(*Error); ok && inner != nil {
		cause = inner.Err // the search has operation and subject
	}
	if cause == nil {
		cause = errors.New("unknown cause")
	}
	return fmt.Sprintf("%q: %v", e.Method, cause)
}

// Unwrap returns the cause.
func (e *MethodError) Unwrap() error { return e.Err }

// NoMethodError says that all methods were passed over, and why each of them.
type NoMethodError struct {
	// Passed has all methods, in their order; it is empty if there are none.
	Passed []MethodError

	// Err is the error that decides what kind of error this is. For a [Multi] it is
	// that of the method that came closest: ErrNoPlatform before ErrNoVersion
	// before ErrNotFound. For a [FirstOf] it is the first fault.
	Err error
}

// Error lists the methods with their errors.
func (e *NoMethodError) Error() string {
	if len(e.Passed) == 0 {
		return "there is no method to ask"
	}
	text := "no method has it"
	if !errors.Is(e.Err, ErrNotFound) {
		text = "no method answers"
	}
	for i := range e.Passed {
		text += map[bool]string{true: ": ", false: "; "}[i == 0] + e.Passed[i].text()
	}
	return text
}

// Unwrap returns the error that decides.
func (e *NoMethodError) Unwrap() error { return e.Err }

// between names in Package.Via.
const between = " > "

// search is one job of a Multi or a FirstOf.
type search struct {
	op, subject string
	report      func(method string, err error) // nil: nobody wants to know
	passed      []MethodError
}

// checkMethods refuses methods that cannot be told apart or asked.
func (s *search) checkMethods(methods []Method) error {
	for i, m := range methods {
		reason := ""
		switch {
		case m.Name == "":
			reason = "has no name"
		case strings.Contains(m.Name, between):
			reason = fmt.Sprintf("has %q in its name", between)
		case slices.ContainsFunc(methods[:i], func(o Method) bool { return o.Name == m.Name }):
			reason = "has the name of another one"
		case m.Source == nil:
			reason = "has no Source"
		}
		if reason != "" {
			return &Error{Op: s.op, Subject: s.subject, Err: fmt.Errorf("method %d, %q, %s", i+1, m.Name, reason)}
		}
	}
	return nil
}

// pass records why a method does not answer.
func (s *search) pass(name string, err error) {
	s.passed = append(s.passed, MethodError{name, err})
	if s.report != nil {
		s.report(name, err)
	}
}

// failed is the error of a search that one method ends.
func (s *search) failed(name string, err error) error {
	return &Error{Op: s.op, Subject: s.subject, Err: &MethodError{name, err}}
}

// none is the error of a search that has passed over all methods; by says why.
func (s *search) none() error {
	return &Error{Op: s.op, Subject: s.subject, Err: &NoMethodError{s.passed, closest(s.passed)}}
}

// find asks one method for a package.
func (m *Method) find(ctx context.Context, p addrs.Provider, v addrs.Version, platform addrs.Platform) (*Package, error) {
	pkg, err := findIn(ctx, m.Source, p, v, platform)
	if err != nil {
		return nil, err
	}
	// A copy, in case that the source keeps its own.
	marked := *pkg
	marked.Via = m.Name
	if pkg.Via != "" {
		marked.Via += between + pkg.Via
	}
	return &marked, nil
}

// evidence asks the method that answered with pkg.
func evidence(ctx context.Context, methods []Method, pkg *Package) (verify.Evidence, error) {
	m, inner, err := via(methods, pkg)
	if err != nil {
		return verify.Evidence{}, err
	}
	return m.Source.Evidence(ctx, inner)
}

// open asks the method that answered with pkg.
func open(ctx context.Context, methods []Method, pkg *Package) (*Body, error) {
	m, inner, err := via(methods, pkg)
	if err != nil {
		return nil, err
	}
	return m.Source.Open(ctx, inner)
}

// via returns the method that answered with pkg, and pkg as that one's source knows it.
func via(methods []Method, pkg *Package) (*Method, *Package, error) {
	if pkg == nil {
		return nil, nil, pkg.fetchable()
	}
	s := &search{op: "fetch", subject: pkg.String()}
	if err := s.checkMethods(methods); err != nil {
		return nil, nil, err
	}
	name, rest, _ := strings.Cut(pkg.Via, between)
	i := slices.IndexFunc(methods, func(m Method) bool { return m.Name == name })
	switch {
	case i >= 0:
		inner := *pkg
		inner.Via = rest
		return &methods[i], &inner, nil
	case name == "":
		return nil, nil, failed(s.op, pkg, errors.New("the package does not say which method answered with it (Via is empty)"))
	}
	return nil, nil, failed(s.op, pkg, fmt.Errorf("the package is from the method %q, which is not among these", name))
}
