package mirrordir

import (
	"context"
	"sync"

	"github.com/tofureg/tofureg/internal/flight"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
)

// evidenceOnce fetches the documents about the packages of one version: those for all
// platforms commonly have them in common.
type evidenceOnce struct {
	src   provider.Fetcher
	calls flight.Group[evidenceKey, evidence]

	mu    sync.Mutex
	known map[evidenceKey]evidence
}

type evidenceKey struct{ sums, signature string }

type evidence struct{ sums, signature []byte }

// Open implements provider.Fetcher.
func (e *evidenceOnce) Open(ctx context.Context, pkg *provider.Package) (*provider.Body, error) {
	return e.src.Open(ctx, pkg)
}

// Evidence implements provider.Fetcher.
func (e *evidenceOnce) Evidence(ctx context.Context, pkg *provider.Package) (verify.Evidence, error) {
	if pkg.SumsURL == "" {
		return e.src.Evidence(ctx, pkg)
	}
	key := evidenceKey{pkg.SumsURL, pkg.SignatureURL}
	documents, err := e.calls.Do(ctx, key, nil, func(ctx context.Context) (evidence, error) {
		if d, ok := e.recall(key); ok {
			return d, nil
		}
		ev, err := e.src.Evidence(ctx, pkg)
		if err != nil {
			return evidence{}, err
		}
		return e.remember(key, evidence{ev.Sums, ev.Signature}), nil
	})
	if err != nil {
		return verify.Evidence{}, err
	}
	ev := pkg.Evidence()
	ev.Sums, ev.Signature = documents.sums, documents.signature
	return ev, nil
}

func (e *evidenceOnce) recall(key evidenceKey) (evidence, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	d, ok := e.known[key]
	return d, ok
}

func (e *evidenceOnce) remember(key evidenceKey, d evidence) evidence {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.known == nil {
		e.known = map[evidenceKey]evidence{}
	}
	e.known[key] = d
	return d
}
