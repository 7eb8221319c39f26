package cooldown

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/wrap"
)

// Rule says which versions are old enough.
type Rule struct {
	// Age is the minimum age. If zero or less, no version is held back, and Dates is not used.
	Age time.Duration

	// Dates, if not nil, has further dates; the later one counts. With a [Recorder], versions that were
	// listed once stay listed.
	Dates Dates

	AllowUnknown bool // list versions without a date, which are otherwise held back

	// Now, if not nil, replaces [time.Now], also for a Recorder.
	Now func() time.Time
}

// Dates knows when versions were first seen. It must be safe for concurrent use.
type Dates interface {
	// FirstSeen returns the times for list, in its order. Zero is unknown.
	FirstSeen(ctx context.Context, of Subject, list []Version) ([]time.Time, error)
}

// Recorder is a Dates that records which versions were listed. A Rule calls Record in place of FirstSeen.
// It also finds a Recorder behind a Dates that has no Record, but a method
//
//	Unwrap() Dates
//
// A struct that embeds a Ledger hides that it is a Recorder.
type Recorder interface {
	// Record calls decide for each version of look, in order, with the time when it was first seen, zero if unknown,
	// and whether it was listed once. If decide returns true, Record records it as listed. A version without a call
	// is held back. If another process records meanwhile, Record may call decide again for all.
	Record(ctx context.Context, look Look, decide func(i int, seen time.Time, listed bool) bool) error
}

// Look is a list of versions that a Recorder sees.
type Look struct {
	Of      Subject   // their provider or module
	List    []Version // each once
	Partial bool      // as in [provider.Versions]
	Now     time.Time // when new versions were first seen
}

// Subject is a provider or a module.
type Subject struct {
	Provider addrs.Provider // zero for a module
	Module   addrs.Module   // zero for a provider
}

// String returns the address.
func (s Subject) String() string {
	if s.Module.IsZero() {
		return s.Provider.String()
	}
	return s.Module.String()
}

// Version is a listed version.
type Version struct {
	Version    addrs.Version // canonical
	Discovered time.Time     // as stated; zero if unknown
}

// verdict says whether a version is held back.
type verdict struct {
	seen time.Time // zero if unknown
	held bool
}

// judge decides about the versions in list, in its order. If partial is set, versions may be missing in it.
func (r *Rule) judge(ctx context.Context, of Subject, list []Version, partial bool, permit func(addrs.Version) bool) ([]verdict, error) {
	now := clock(r.Now)
	verdicts := make([]verdict, len(list))
	if recorder, ok := wrap.As[Recorder](r.Dates); ok {
		for i := range verdicts {
			verdicts[i].held = true // also if Record does not call decide
		}
		return verdicts, recorder.Record(ctx, Look{of, list, partial, now}, func(i int, seen time.Time, listed bool) bool {
			verdicts[i] = r.decide(now, later(list[i].Discovered, seen), listed)
			old := !verdicts[i].held
			// What is permitted is listed for this caller only.
			verdicts[i].held = verdicts[i].held && !permit(list[i].Version)
			return old
		})
	}
	seen := make([]time.Time, len(list))
	if r.Dates != nil {
		var err error
		if seen, err = r.Dates.FirstSeen(ctx, of, list); err != nil {
			return nil, err
		}
		if len(seen) != len(list) {
			return nil, fmt.Errorf("FirstSeen returned %d times for %d versions", len(seen), len(list))
		}
	}
	for i, v := range list {
		verdicts[i] = r.decide(now, later(v.Discovered, seen[i]), permit(v.Version))
	}
	return verdicts, nil
}

// decide decides about a version that was first seen at a time, or is listed in any case.
func (r *Rule) decide(now, seen time.Time, listed bool) verdict {
	if seen.IsZero() {
		return verdict{seen, !listed && !r.AllowUnknown}
	}
	return verdict{seen, !listed && now.Before(seen.Add(r.Age))}
}

// until returns when a version is old enough, or zero if that is unknown.
func (r *Rule) until(seen time.Time) time.Time {
	if until := seen.Add(r.Age); !seen.IsZero() && until.Year() <= 9999 { // otherwise it has no JSON form
		return until
	}
	return time.Time{}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func clock(now func() time.Time) time.Time {
	if now == nil {
		return time.Now()
	}
	return now()
}

// maxAge is the maximum of ParseAge.
const maxAge = 36500 * 24 * time.Hour

// ParseAge parses a whole number with a unit, d (24 hours), h, m or s, such as "7d", as the cooldown_period of
// OpenTofu's RFC. The maximum is 36500d.
func ParseAge(s string) (time.Duration, error) {
	units := map[byte]time.Duration{'d': 24 * time.Hour, 'h': time.Hour, 'm': time.Minute, 's': time.Second}
	if s != "" {
		unit := units[s[len(s)-1]]
		n, err := strconv.ParseUint(s[:len(s)-1], 10, 63)
		if err == nil && unit > 0 && n <= uint64(maxAge/unit) {
			return time.Duration(n) * unit, nil
		}
	}
	return 0, fmt.Errorf("invalid age %.100q: want a whole number with a unit, d, h, m or s, such as \"7d\", and at most 36500d", s)
}
