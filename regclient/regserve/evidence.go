package regserve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/flight"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify"
)

// The limits of kept evidence, in time and in bytes.
const (
	keepFor  = 5 * time.Minute
	keepSize = 32 << 20
)

// keptEvidence is a source that keeps SHA256SUMS documents with their signatures, because clients
// ask for both after each package document, and the packages of a version share them. It keeps only
// those that agree with the requested package: a key of the package signed a document that states its
// hash. Others are passed on.
type keptEvidence struct {
	provider.Source

	fetching flight.Group[evidenceKey, proof]

	mu   sync.Mutex
	kept map[evidenceKey]proof
	size int
}

// evidenceKey has the provider, whose host may need a token, and the method.
type evidenceKey struct {
	provider             addrs.Provider
	sums, signature, via string
}

type proof struct {
	sums, signature []byte
	until           time.Time
}

func (p proof) size() int { return len(p.sums) + len(p.signature) }

func (p proof) evidence(pkg *provider.Package) verify.Evidence {
	ev := pkg.Evidence()
	ev.Sums, ev.Signature = bytes.Clone(p.sums), bytes.Clone(p.signature)
	return ev
}

// Evidence implements [provider.Opener].
func (k *keptEvidence) Evidence(ctx context.Context, pkg *provider.Package) (verify.Evidence, error) {
	if pkg.SumsURL == "" {
		return k.Source.Evidence(ctx, pkg)
	}
	key := evidenceKey{pkg.Provider, pkg.SumsURL, pkg.SignatureURL, fmt.Sprintf("%q", pkg.Via)}
	k.mu.Lock()
	known, ok := k.kept[key]
	k.mu.Unlock()
	if ok && time.Now().Before(known.until) {
		if ev := known.evidence(pkg); agrees(ev) {
			return ev, nil
		}
	}
	fetched, err := k.fetching.Do(ctx, key, nil, func(ctx context.Context) (proof, error) {
		ev, err := k.Source.Evidence(ctx, pkg)
		return proof{ev.Sums, ev.Signature, time.Now().Add(keepFor)}, err
	})
	if err != nil {
		return verify.Evidence{}, err
	}
	ev := fetched.evidence(pkg)
	if agrees(ev) {
		k.keep(key, fetched)
	}
	return ev, nil
}

// agrees reports whether the evidence proves the hash of its package, whatever a policy says about
// the age and the strength of keys.
func agrees(ev verify.Evidence) bool {
	lenient := verify.Policy{RequireSignature: true, AllowExpired: true, AllowWeak: true, AllowAnyName: true}
	checked, err := lenient.CheckSums(ev)
	if err != nil {
		return false
	}
	_, err = checked.JudgeStated(ev)
	return err == nil || errors.Is(err, verify.ErrNotStated) // nothing to compare is stated
}

// keep adds p. It first removes what has expired, and then any others, until there is room.
func (k *keptEvidence) keep(key evidenceKey, p proof) {
	if p.size() > keepSize {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	now := time.Now()
	remove := func(needed func(proof) bool) {
		for other, old := range k.kept {
			if needed(old) {
				delete(k.kept, other)
				k.size -= old.size()
			}
		}
	}
	remove(func(old proof) bool { return !now.Before(old.until) })
	remove(func(proof) bool { return k.size+p.size() > keepSize })
	if k.kept == nil {
		k.kept = map[evidenceKey]proof{}
	}
	k.size += p.size() - k.kept[key].size()
	k.kept[key] = p
}
