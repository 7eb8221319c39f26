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
)

// Source returns a source that records a span for each call of src. The span of an archive
// ends when its body is closed.
func (t *Telemetry) Source(src provider.Source) provider.Source { return &source{src, t} }

type source struct {
	next provider.Source
	*Telemetry
}

func (t *Telemetry) start(ctx context.Context, name string, attributes []attribute.KeyValue) (context.Context, trace.Span) {
	return t.tracer.Start(ctx, name, trace.WithAttributes(attributes...))
}

// ProviderVersions implements [provider.Lister].
func (s *source) ProviderVersions(ctx context.Context, p addrs.Provider) (v *provider.Versions, err error) {
	ctx, span := s.start(ctx, "list versions", attributes(p, addrs.Version{}, addrs.Platform{}))
	defer func() { End(span, err) }()
	return s.next.ProviderVersions(ctx, p)
}

// ProviderPackage implements [provider.Lister].
func (s *source) ProviderPackage(ctx context.Context, p addrs.Provider, v addrs.Version, on addrs.Platform) (pkg *provider.Package, err error) {
	ctx, span := s.start(ctx, "find package", attributes(p, v, on))
	defer func() { End(span, err) }()
	return s.next.ProviderPackage(ctx, p, v, on)
}

// Evidence implements [provider.Opener].
func (s *source) Evidence(ctx context.Context, pkg *provider.Package) (ev verify.Evidence, err error) {
	ctx, span := s.start(ctx, "fetch evidence", of(pkg))
	defer func() { End(span, err) }()
	return s.next.Evidence(ctx, pkg)
}

// Open implements [provider.Opener].
func (s *source) Open(ctx context.Context, pkg *provider.Package) (*provider.Body, error) {
	ctx, span := s.start(ctx, "fetch archive", of(pkg))
	body, err := s.next.Open(ctx, pkg)
	if err != nil {
		End(span, err)
		return nil, err
	}
	traced := *body
	traced.ReadCloser = &tracedBody{ReadCloser: body.ReadCloser, span: span}
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
