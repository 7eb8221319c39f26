package telemetry

import (
	"context"
	"errors"
	"io"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
	"github.com/tofureg/tofureg/verify/checksum"
)

// Source returns a source that records a span for each call of src, also of the methods of [provider.Catalogue] if src
// has them. The span of an archive ends when its body is closed. The source unwraps: see [provider.As].
func (t *Telemetry) Source(src provider.Source) provider.Source {
	s := spans{src, t}
	if c, ok := provider.As[provider.Catalogue](src); ok {
		return catalogued{s, c}
	}
	return source{s}
}

// spans records a span for each call of a source.
type spans struct {
	provider.Source
	t *Telemetry
}

type source struct{ spans }

// Unwrap returns the source behind s.
func (s source) Unwrap() provider.Source { return s.Source }

func (s spans) start(ctx context.Context, name string, attributes []attribute.KeyValue) (context.Context, trace.Span) {
	return s.t.start(ctx, name, attributes)
}

// catalogued is a source that is a [provider.Catalogue].
type catalogued struct {
	spans
	lists provider.Catalogue
}

// Unwrap returns the source behind s.
func (s catalogued) Unwrap() provider.Source { return s.Source }

// ListedVersions implements [provider.Catalogue].
func (s catalogued) ListedVersions(ctx context.Context, p addrs.Provider) (list []addrs.Version, err error) {
	ctx, span := s.start(ctx, "list versions", attributes(p, addrs.Version{}, addrs.Platform{}))
	defer func() { End(span, err) }()
	return s.lists.ListedVersions(ctx, p)
}

// ListedArchives implements [provider.Catalogue].
func (s catalogued) ListedArchives(ctx context.Context, p addrs.Provider, v addrs.Version) (list map[addrs.Platform][]checksum.Hash, err error) {
	ctx, span := s.start(ctx, "list archives", attributes(p, v, addrs.Platform{}))
	defer func() { End(span, err) }()
	return s.lists.ListedArchives(ctx, p, v)
}

func (t *Telemetry) start(ctx context.Context, name string, attributes []attribute.KeyValue) (context.Context, trace.Span) {
	return t.tracer.Start(ctx, name, trace.WithAttributes(attributes...))
}

// ProviderVersions implements [provider.Lister].
func (s spans) ProviderVersions(ctx context.Context, p addrs.Provider) (v *provider.Versions, err error) {
	ctx, span := s.start(ctx, "list versions", attributes(p, addrs.Version{}, addrs.Platform{}))
	defer func() { End(span, err) }()
	return s.Source.ProviderVersions(ctx, p)
}

// ProviderPackage implements [provider.Lister].
func (s spans) ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, on addrs.Platform) (pkg *provider.Package, err error) {
	ctx, span := s.start(ctx, "find package", attributes(p, v, on))
	defer func() { End(span, err) }()
	return s.Source.ProviderPackage(ctx, p, v, on)
}

// Evidence implements [provider.Opener].
func (s spans) Evidence(ctx context.Context, pkg *provider.Package) (ev verify.Evidence, err error) {
	ctx, span := s.start(ctx, "fetch evidence", of(pkg))
	defer func() { End(span, err) }()
	return s.Source.Evidence(ctx, pkg)
}

// Open implements [provider.Opener].
func (s spans) Open(ctx context.Context, pkg *provider.Package) (*provider.Body, error) {
	ctx, span := s.start(ctx, "fetch archive", of(pkg))
	body, err := s.Source.Open(ctx, pkg)
	if err != nil {
		End(span, err)
		return nil, err
	}
	traced := *body
	b := &tracedBody{ReadCloser: body.ReadCloser, span: span}
	traced.ReadCloser = b
	// A server reads an archive in any order without a copy, if it can.
	seeker, seeks := body.ReadCloser.(io.Seeker)
	at, random := body.ReadCloser.(io.ReaderAt)
	switch {
	case seeks && random:
		traced.ReadCloser = struct {
			io.ReadCloser
			io.Seeker
			io.ReaderAt
		}{b, seeker, at}
	case seeks:
		traced.ReadCloser = struct {
			io.ReadCloser
			io.Seeker
		}{b, seeker}
	case random:
		traced.ReadCloser = struct {
			io.ReadCloser
			io.ReaderAt
		}{b, at}
	}
	return &traced, nil
}

func of(pkg *provider.Package) []attribute.KeyValue {
	if pkg == nil {
		return nil
	}
	return attributes(pkg.Provider, pkg.Version, pkg.Platform)
}

// tracedBody ends its span when it is closed.
type tracedBody struct {
	io.ReadCloser
	span trace.Span
	err  error // of the last read
}

func (b *tracedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		b.err = err
	}
	return n, err
}

func (b *tracedBody) Close() error {
	err := b.ReadCloser.Close()
	End(b.span, b.err)
	return err
}
