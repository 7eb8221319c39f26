// Package choice has what choosing providers and modules shares: lists of versions, and patterns of addresses.
package choice

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/fault"
)

// Versions are the releases R and the held versions H of a provider or module.
type Versions[R, H any] struct {
	List    []R
	Held    []H
	Version func(*R) addrs.Version // of a release
	Release func(*H) *R            // of a held version
}

// Text returns the subject and its versions.
func (v Versions[R, H]) Text(subject string) string {
	list := make([]string, len(v.List))
	for i := range v.List {
		list[i] = v.Version(&v.List[i]).String()
	}
	return subject + ": " + cmp.Or(strings.Join(list, ", "), "no versions")
}

// Find returns the release of version in List or Held, and whether there is one.
func (v Versions[R, H]) Find(version addrs.Version) (r R, ok bool) {
	for i := range v.List {
		if v.Version(&v.List[i]) == version {
			return v.List[i], true
		}
	}
	for i := range v.Held {
		if of := v.Release(&v.Held[i]); v.Version(of) == version {
			return *of, true
		}
	}
	return r, false
}

// Newest returns the newest release that allows and fits accept, or nil. A nil fits accepts all. The list may have any
// order.
func (v Versions[R, H]) Newest(allows func(addrs.Version) bool, fits func(*R) error) (best *R) {
	var newest addrs.Version
	for i := range v.List {
		r := &v.List[i]
		version := v.Version(r)
		// If the list is sorted, this skips the rest.
		if (best == nil || version.Compare(newest) > 0) && allows(version) && (fits == nil || fits(r) == nil) {
			best, newest = r, version
		}
	}
	return best
}

// HeldFor returns the held versions that allows and fits accept and that are newer than the version than, newest first.
func (v Versions[R, H]) HeldFor(allows func(addrs.Version) bool, fits func(*R) error, than addrs.Version) (list []H) {
	for _, h := range v.Held {
		r := v.Release(&h)
		if version := v.Version(r); version.Compare(than) > 0 && allows(version) && (fits == nil || fits(r) == nil) {
			list = append(list, h)
		}
	}
	slices.SortFunc(list, func(a, b H) int { return v.Version(v.Release(&b)).Compare(v.Version(v.Release(&a))) })
	return list
}

// HeldBack returns the text of the error that all versions which a constraint allows are held back. The function of
// returns when a version was seen and until when it is held.
func (v Versions[R, H]) HeldBack(constraint string, of func(*H) (seen, until time.Time)) string {
	list := make([]fault.Held, len(v.Held))
	for i := range v.Held {
		seen, until := of(&v.Held[i])
		list[i] = fault.Held{Version: v.Version(v.Release(&v.Held[i])).String(), Seen: seen, Until: until}
	}
	return fault.HeldBack(constraint, list)
}
