package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/attribute"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/module"
)

// ModuleSource returns a source that records a span for each call of src. The span of a package
// ends when its body is closed. Packages from git and from a [module.Fetcher] have no span.
func (t *Telemetry) ModuleSource(src module.Source) module.Source { return &moduleSource{src, t} }

type moduleSource struct {
	next module.Source
	*Telemetry
}

// ModuleVersions implements [module.Lister].
func (s *moduleSource) ModuleVersions(ctx context.Context, m addrs.Module) (v *module.Versions, err error) {
	ctx, span := s.start(ctx, "list module versions", ofModule(m, addrs.Version{}))
	defer func() { End(span, err) }()
	return s.next.ModuleVersions(ctx, m)
}

// ModuleLocation implements [module.Lister].
func (s *moduleSource) ModuleLocation(ctx context.Context, m addrs.Module, v addrs.Version) (loc *module.Location, err error) {
	ctx, span := s.start(ctx, "find module", ofModule(m, v))
	defer func() { End(span, err) }()
	return s.next.ModuleLocation(ctx, m, v)
}

// OpenModule implements [module.Opener].
func (s *moduleSource) OpenModule(ctx context.Context, loc *module.Location) (*module.Body, error) {
	var about []attribute.KeyValue
	if loc != nil {
		about = ofModule(loc.Module, loc.Version)
	}
	ctx, span := s.start(ctx, "fetch module", about)
	body, err := s.next.OpenModule(ctx, loc)
	if err != nil {
		End(span, err)
		return nil, err
	}
	traced := *body
	traced.ReadCloser = &tracedBody{ReadCloser: body.ReadCloser, span: span}
	return &traced, nil
}

func ofModule(m addrs.Module, v addrs.Version) []attribute.KeyValue {
	var list []attribute.KeyValue
	if !m.IsZero() {
		list = append(list, keyModule.String(m.String()))
	}
	if !v.IsZero() {
		list = append(list, keyVersion.String(v.String()))
	}
	return list
}
