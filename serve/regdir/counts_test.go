package regdir_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/serve/regdir"
	"github.com/tofureg/tofureg/storage"
)

// TestCounts: each list in a record or a list of versions has a limit, when it is read and when it is published. What is
// beyond it is not written.
func TestCounts(t *testing.T) {
	t.Parallel()
	const record, list = "files/providers/acme/alpha/1.0.0/record.json", "v1/providers/acme/alpha/versions"
	linux := addrs.MustParsePlatform("linux_amd64")
	rel := dist(t, "1.0.0", 0, "linux_amd64", "windows_amd64")
	published := &storage.Memory{}
	publish(t, newRegistry(published), rel)

	// edited returns the files of a store with n elements in a list of a document.
	edited := func(from storage.Store, name, member string, n int, element func(i int) any, into func(doc map[string]any) map[string]any) *storage.Memory {
		s := &storage.Memory{}
		for file, text := range files(t, from) {
			if file == name {
				var doc map[string]any
				must.Do(t, json.Unmarshal([]byte(text), &doc))
				of := into(doc)
				elements, _ := of[member].([]any)
				for i := len(elements); i < n; i++ {
					elements = append(elements, element(i))
				}
				slices.SortFunc(elements, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
				of[member] = elements
				text = string(must.Get(json.Marshal(doc))(t))
			}
			put(t, s, file, text)
		}
		return s
	}
	whole := func(doc map[string]any) map[string]any { return doc }
	first := func(member string) func(map[string]any) map[string]any {
		return func(doc map[string]any) map[string]any { return doc[member].([]any)[0].(map[string]any) }
	}
	protocol := func(i int) any { return fmt.Sprintf("6.%d", i) }
	for _, test := range []struct {
		file, member string
		limit        int
		element      func(i int) any
		into         func(map[string]any) map[string]any
	}{
		{record, "keys", 100, func(int) any { return map[string]any{"ascii_armor": rel.Keys[0].Armor} }, whole},
		{record, "protocols", 100, protocol, whole},
		{record, "archives", 1000, func(i int) any { return map[string]any{"platform": fmt.Sprintf("x%d_arm", i)} }, whole},
		{record, "hashes", 100, func(i int) any { return fmt.Sprintf("zz:%d", i) }, first("archives")},
		{list, "platforms", 1000, func(i int) any { return map[string]any{"os": fmt.Sprintf("x%d", i), "arch": "arm"} }, first("versions")},
		{list, "protocols", 100, protocol, first("versions")},
	} {
		for _, n := range []int{test.limit, test.limit + 1} {
			r := newRegistry(edited(published, test.file, test.member, n, test.element, test.into))
			_, err := r.ProviderPackage(t.Context(), alpha, v1, linux)
			if test.file == list {
				_, err = r.ProviderVersions(t.Context(), alpha)
			}
			if n == test.limit && err != nil || n > test.limit && !errors.Is(err, failure.ErrTooLarge) {
				t.Errorf("%d %s in %s: %v, want ErrTooLarge beyond %d", n, test.member, test.file, err, test.limit)
			}
		}
	}

	removed := &storage.Memory{}
	publish(t, newRegistry(removed), dist(t, "1.0.0", 0, "linux_amd64"))
	must.Do(t, newRegistry(removed).RemoveProvider(t.Context(), alpha, v1))
	for _, more := range []int{0, 1} {
		keys, protocols := rel, rel
		keys.Keys = slices.Repeat(rel.Keys, 100+more)
		texts := make([]string, 100+more)
		for i := range texts {
			texts[i] = fmt.Sprint(protocol(i))
		}
		protocols.Manifest = filepath.Join(t.TempDir(), "manifest.json")
		write(t, protocols.Manifest, `{"version": 1, "metadata": {"protocol_versions": ["`+strings.Join(texts, `", "`)+`"]}}`)
		earlier := edited(removed, record, "archives", 999+more, func(i int) any { return map[string]any{"platform": fmt.Sprintf("x%d_arm", i)} }, whole)
		for name, test := range map[string]struct {
			s   storage.Store
			rel regdir.Release
		}{"keys": {&storage.Memory{}, keys}, "protocols": {&storage.Memory{}, protocols}, "platforms": {earlier, rel}} {
			r, before := newRegistry(test.s), files(t, test.s)
			_, err := r.PublishProvider(t.Context(), test.rel)
			if more == 1 && (!errors.Is(err, failure.ErrTooLarge) || !maps.Equal(files(t, test.s), before)) {
				t.Errorf("PublishProvider with too many %s: %v and %d files, want ErrTooLarge and %d files", name, err, len(files(t, test.s)), len(before))
			}
			if more == 0 {
				must.Do(t, err)
				must.Get(r.ProviderPackage(t.Context(), alpha, v1, linux))(t)
			}
		}
	}
}
