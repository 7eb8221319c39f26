package provider

import (
	"bytes"
	"context"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/flight"
	"github.com/tofureg/tofureg/verify"
)

// maxShared bounds the cached bytes. Documents usually have a few thousand.
const maxShared = 8 << 20

// ShareEvidence returns a Source that fetches each SHA256SUMS document and its signature from
// src only once, because the packages of a version share them. It caches 8 MiB for up to a
// day, so use it for one job: pass it to [Hashes] and to [Download]. It checks answers as
// [CheckAnswers] does.
func ShareEvidence(src Source) Source {
	if _, ok := src.(*sharedEvidence); ok {
		return src
	}
	return &sharedEvidence{Source: CheckAnswers(src), cached: semaphore.NewWeighted(maxShared)}
}

type sharedEvidence struct {
	Source
	known  flight.Cache[evidenceKey, evidenceDocuments]
	cached *semaphore.Weighted // bytes
}

// evidenceKey has the provider, whose host may need a token, and the method.
type evidenceKey struct {
	provider             addrs.Provider
	sums, signature, via string
}

type evidenceDocuments struct{ sums, signature []byte }

// Evidence implements [Fetcher].
func (s *sharedEvidence) Evidence(ctx context.Context, pkg *Package) (verify.Evidence, error) {
	if pkg == nil || pkg.SumsURL == "" {
		return s.Source.Evidence(ctx, pkg)
	}
	key := evidenceKey{pkg.Provider, pkg.SumsURL, pkg.SignatureURL, pkg.Via}
	found, err := s.known.Do(ctx, key, func(ctx context.Context) (evidenceDocuments, time.Duration, error) {
		ev, err := s.Source.Evidence(ctx, pkg)
		found := evidenceDocuments{ev.Sums, ev.Signature}
		if err != nil || !s.cached.TryAcquire(int64(len(ev.Sums)+len(ev.Signature))) {
			return found, -1, err
		}
		return found, 24 * time.Hour, nil
	})
	if err != nil {
		return verify.Evidence{}, err
	}
	ev := pkg.Evidence()
	ev.Sums, ev.Signature = bytes.Clone(found.sums), bytes.Clone(found.signature)
	return ev, nil
}
