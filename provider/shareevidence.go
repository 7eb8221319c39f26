package provider

import (
	"bytes"
	"context"
	"sync/atomic"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/flight"
	"github.com/tofureg/tofureg/verify"
)

// maxShared bounds the bytes of documents that are kept; they commonly have a few thousand.
const maxShared = 32 << 20

// ShareEvidence returns a Source like src that fetches a SHA256SUMS document and its
// signature once: the packages of a version for all platforms commonly have them in
// common. The first 32 MiB are kept as long as the Source is used, up to a day, so it is
// for one job, such as an installation with all that belongs to it. Errors are not kept.
//
// [Hashes] does so by itself; who calls it and [Download] for the same version gives both
// the same Source.
//
// Answers are checked as by [CheckAnswers].
func ShareEvidence(src Source) Source {
	if _, ok := src.(*sharedEvidence); ok {
		return src
	}
	return &sharedEvidence{Source: CheckAnswers(src)}
}

type sharedEvidence struct {
	Source
	known flight.Cache[evidenceKey, documents]
	size  atomic.Int64 // of what is known
}

// evidenceKey: who may fetch from a URL depends on the provider's host, and where it
// leads on the method.
type evidenceKey struct {
	provider             addrs.Provider
	sums, signature, via string
}

type documents struct{ sums, signature []byte }

// Evidence implements [Fetcher].
func (s *sharedEvidence) Evidence(ctx context.Context, pkg *Package) (verify.Evidence, error) {
	if pkg == nil || pkg.SumsURL == "" {
		return s.Source.Evidence(ctx, pkg)
	}
	key := evidenceKey{pkg.Provider, pkg.SumsURL, pkg.SignatureURL, pkg.Via}
	found, err := s.known.Do(ctx, key, 24*time.Hour, func(ctx context.Context) (documents, error) {
		ev, err := s.Source.Evidence(ctx, pkg)
		if s.size.Add(int64(len(ev.Sums)+len(ev.Signature))) > maxShared {
			s.known.Forget(key)
		}
		return documents{ev.Sums, ev.Signature}, err
	})
	if err != nil {
		return verify.Evidence{}, err
	}
	ev := pkg.Evidence()
	ev.Sums, ev.Signature = bytes.Clone(found.sums), bytes.Clone(found.signature)
	return ev, nil
}
