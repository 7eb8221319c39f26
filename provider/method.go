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

// Method is a source of a [Multi] or a [FirstOf], and the providers that it is used for: an
// installation method of the OpenTofu CLI.
type Method struct {
	// Name identifies the method in [Package.Via] and in errors. It must be unique and must
	// not contain " > ".
	Name string

	// Source may be a [Multi] or a [FirstOf], too. [Package.Via] then has both names, joined
	// by " > ".
	Source Source

	// A provider must match a pattern of Include, if there are any, and must not match a
	// pattern of Exclude.
	Include, Exclude []Pattern
}

// ErrExcluded means that the patterns of a method exclude the provider. It is also ErrNotFound.
var ErrExcluded = fault.Narrow("excluded by the patterns of the method", fault.ErrNotFound)

// accepts returns ErrExcluded if the patterns exclude p.
func (m *Method) accepts(p addrs.Provider) error {
	matches := func(pattern Pattern) bool { return pattern.Matches(p) }
	if len(m.Include) > 0 && !slices.ContainsFunc(m.Include, matches) || slices.ContainsFunc(m.Exclude, matches) {
		return ErrExcluded
	}
	return nil
}

// MethodError is the failure of a method.
type MethodError struct {
	Method string // the name of the method
	Err    error  // the error of its source, or ErrExcluded
}

// Error returns the name of the method and the cause.
func (e *MethodError) Error() string { return "method " + e.text() }

func (e *MethodError) text() string {
	cause := e.Err
	if inner, ok := cause.(*Error); ok && inner != nil {
		cause = inner.Err // the error of the search repeats the rest
	}
	if cause == nil {
		cause = errors.New("unknown cause")
	}
	return fmt.Sprintf("%q: %v", e.Method, cause)
}

// Unwrap returns Err.
func (e *MethodError) Unwrap() error { return e.Err }

// NoMethodError means that all methods were skipped.
type NoMethodError struct {
	// Skipped has the error of each method, in order.
	Skipped []MethodError

	// Err is the error in Skipped that came closest to an answer. For a [FirstOf] it is the
	// first fault. For a [Multi], ErrNoPlatform is closer than ErrNoVersion and ErrNotFound.
	Err error
}

// Error lists the errors of the methods.
func (e *NoMethodError) Error() string {
	if len(e.Skipped) == 0 {
		return "there are no methods"
	}
	text := "no method has it"
	if !errors.Is(e.Err, ErrNotFound) {
		text = "no method answers"
	}
	for i := range e.Skipped {
		text += map[bool]string{true: ": ", false: "; "}[i == 0] + e.Skipped[i].text()
	}
	return text
}

// Unwrap returns Err.
func (e *NoMethodError) Unwrap() error { return e.Err }

// between separates names in Package.Via.
const between = " > "

// search is a call of a Multi or a FirstOf.
type search struct {
	op, subject string
	report      func(method string, err error) // may be nil
	skipped     []MethodError
}

// checkMethods returns an error if a method has no unique name or no source.
func (s *search) checkMethods(methods []Method) error {
	for i, m := range methods {
		reason := ""
		switch {
		case m.Name == "":
			reason = "has no name"
		case strings.Contains(m.Name, between):
			reason = fmt.Sprintf("has %q in its name", between)
		case slices.ContainsFunc(methods[:i], func(o Method) bool { return o.Name == m.Name }):
			reason = "has a duplicate name"
		case m.Source == nil:
			reason = "has no Source"
		}
		if reason != "" {
			return &Error{Op: s.op, Subject: s.subject, Err: fmt.Errorf("method %d, %q, %s", i+1, m.Name, reason)}
		}
	}
	return nil
}

// skip records why a method was skipped.
func (s *search) skip(name string, err error) {
	s.skipped = append(s.skipped, MethodError{name, err})
	if s.report != nil {
		s.report(name, err)
	}
}

// failed returns the error of a search that a method has ended.
func (s *search) failed(name string, err error) error {
	return &Error{Op: s.op, Subject: s.subject, Err: &MethodError{name, err}}
}

// none returns the error of a search that has skipped all methods.
func (s *search) none() error {
	return &Error{Op: s.op, Subject: s.subject, Err: &NoMethodError{s.skipped, closest(s.skipped)}}
}

// find returns the package of the method.
func (m *Method) find(ctx context.Context, p addrs.Provider, v addrs.Version, platform addrs.Platform) (*Package, error) {
	pkg, err := findIn(ctx, m.Source, p, v, platform)
	if err != nil {
		return nil, err
	}
	// A copy, because the source may keep pkg.
	marked := *pkg
	marked.Via = m.Name
	if pkg.Via != "" {
		marked.Via += between + pkg.Via
	}
	return &marked, nil
}

// evidence calls the method that has found pkg.
func evidence(ctx context.Context, methods []Method, pkg *Package) (verify.Evidence, error) {
	m, inner, err := methodOf(methods, pkg)
	if err != nil {
		return verify.Evidence{}, err
	}
	return m.Source.Evidence(ctx, inner)
}

// open calls the method that has found pkg.
func open(ctx context.Context, methods []Method, pkg *Package) (*Body, error) {
	m, inner, err := methodOf(methods, pkg)
	if err != nil {
		return nil, err
	}
	return m.Source.Open(ctx, inner)
}

// methodOf returns the method that has found pkg, and pkg with the Via of its source.
func methodOf(methods []Method, pkg *Package) (*Method, *Package, error) {
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
		return nil, nil, failed(s.op, pkg, errors.New("the package does not name its method (Via is empty)"))
	}
	return nil, nil, failed(s.op, pkg, fmt.Errorf("unknown method %q in Package.Via", name))
}
