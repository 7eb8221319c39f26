package telemetry

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
)

const scope = "github.com/tofureg/tofureg/contrib/telemetry"

// The keys of attributes that the semantic conventions do not have.
const (
	keyProvider = attribute.Key("tofureg.provider")
	keyVersion  = attribute.Key("tofureg.version")
	keyPlatform = attribute.Key("tofureg.platform")
	keyEvent    = attribute.Key("tofureg.event")
)

// Telemetry makes spans and metrics. [New] returns one. It is safe for concurrent use.
type Telemetry struct {
	tracers  trace.TracerProvider
	meters   metric.MeterProvider
	tracer   trace.Tracer
	packages metric.Int64Counter
	bytes    metric.Int64Counter
}

// New returns a Telemetry that reports to these providers. Neither may be nil; package
// [go.opentelemetry.io/otel] has the global ones. The error is that of the meter.
func New(tracers trace.TracerProvider, meters metric.MeterProvider) (*Telemetry, error) {
	meter := meters.Meter(scope)
	packages, err := meter.Int64Counter("tofureg.packages", metric.WithUnit("{package}"),
		metric.WithDescription("Steps of provider packages, by the kind of the event."))
	bytes, failed := meter.Int64Counter("tofureg.package.bytes", metric.WithUnit("By"),
		metric.WithDescription("Bytes of provider packages that have arrived."))
	return &Telemetry{tracers, meters, tracers.Tracer(scope), packages, bytes}, errors.Join(err, failed)
}

// Start starts the span of a job, such as "init". Pass the returned context to the job, and
// end the span with [End].
func (t *Telemetry) Start(ctx context.Context, job string) (context.Context, trace.Span) {
	return t.tracer.Start(ctx, job)
}

// End ends a span with the result of its job. The text of an error is not recorded, only
// its kind: it repeats what servers say.
func End(span trace.Span, err error) {
	if err != nil {
		span.SetStatus(codes.Error, kind(err))
	}
	span.End()
}

// kind names an error by the sentinels of package provider.
func kind(err error) string {
	for _, k := range []error{
		context.Canceled, context.DeadlineExceeded, provider.ErrNoPlatform, provider.ErrNoVersion, provider.ErrNotFound,
		provider.ErrUnauthorized, provider.ErrTooLarge, provider.ErrInsecure, provider.ErrChanged, provider.ErrOffline,
	} {
		if errors.Is(err, k) {
			return k.Error()
		}
	}
	return "failed"
}

func attributes(p addrs.Provider, v addrs.Version, on addrs.Platform) []attribute.KeyValue {
	list := []attribute.KeyValue{keyProvider.String(p.String())}
	if !v.IsZero() {
		list = append(list, keyVersion.String(v.String()))
	}
	if !on.IsZero() {
		list = append(list, keyPlatform.String(on.String()))
	}
	return list
}
