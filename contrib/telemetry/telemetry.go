package telemetry

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/provider"
)

const scope = "github.com/tofureg/tofureg/contrib/telemetry"

// The keys of attributes that the semantic conventions do not define.
const (
	keyProvider = attribute.Key("tofureg.provider")
	keyModule   = attribute.Key("tofureg.module")
	keyVersion  = attribute.Key("tofureg.version")
	keyPlatform = attribute.Key("tofureg.platform")
	keyEvent    = attribute.Key("tofureg.event")
	keyKind     = attribute.Key("tofureg.kind")
	keyCache    = attribute.Key("tofureg.cache")
	keyAborted  = attribute.Key("tofureg.aborted")
)

// Telemetry records spans and metrics. Create it with [New]. It is safe for concurrent use.
type Telemetry struct {
	tracers  trace.TracerProvider
	meters   metric.MeterProvider
	tracer   trace.Tracer
	packages metric.Int64Counter
	bytes    metric.Int64Counter
	served   metric.Float64Histogram
	sent     metric.Int64Counter
}

// New returns a Telemetry that reports to the two providers, which must not be nil. The
// global providers are in package [go.opentelemetry.io/otel]. The error is the error of the
// meter.
func New(tracers trace.TracerProvider, meters metric.MeterProvider) (*Telemetry, error) {
	meter := meters.Meter(scope)
	packages, err := meter.Int64Counter("tofureg.packages", metric.WithUnit("{package}"),
		metric.WithDescription("Provider packages by the event that ended their work."))
	bytes, other := meter.Int64Counter("tofureg.package.bytes", metric.WithUnit("By"),
		metric.WithDescription("Received bytes of provider packages."))
	served, third := meter.Float64Histogram("tofureg.served.duration", metric.WithUnit("s"),
		metric.WithDescription("Durations of answers of a server."),
		metric.WithExplicitBucketBoundaries(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300))
	sent, fourth := meter.Int64Counter("tofureg.served.bytes", metric.WithUnit("By"),
		metric.WithDescription("Sent bytes of a server."))
	return &Telemetry{tracers, meters, tracers.Tracer(scope), packages, bytes, served, sent}, errors.Join(err, other, third, fourth)
}

// Start starts the span of an operation, such as "init". Pass the returned context to the
// operation, and end the span with [End].
func (t *Telemetry) Start(ctx context.Context, name string) (context.Context, trace.Span) {
	return t.tracer.Start(ctx, name)
}

// End ends a span with the result of its operation. It records the kind of an error as the status and
// as the attribute error.type, but not its text, which can contain text of servers.
func End(span trace.Span, err error) {
	if err != nil {
		k := kind(err)
		span.SetStatus(codes.Error, k)
		if k == failed {
			k = "_OTHER" // by the convention
		}
		span.SetAttributes(attribute.String("error.type", k))
	}
	span.End()
}

// failed is the kind of other errors.
const failed = "failed"

// kind returns the kind of an error of the packages provider and module.
func kind(err error) string {
	for _, k := range []error{
		context.Canceled, context.DeadlineExceeded, provider.ErrNoPlatform, failure.ErrNoVersion, failure.ErrNotFound,
		failure.ErrUnauthorized, failure.ErrTooLarge, failure.ErrInsecure, failure.ErrChanged, failure.ErrOffline,
	} {
		if errors.Is(err, k) {
			return k.Error()
		}
	}
	return failed
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
