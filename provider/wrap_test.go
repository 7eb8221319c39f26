package provider_test

import (
	"context"
	"fmt"
	"log"
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/verify/checksum"
)

// shelf is a catalogue without versions.
type shelf struct {
	provider.Source
	name string
}

func (shelf) ListedVersions(context.Context, addrs.Provider) ([]addrs.Version, error) {
	return nil, nil
}

func (shelf) ListedArchives(context.Context, addrs.Provider, addrs.Version) (map[addrs.Platform][]checksum.Hash, error) {
	return nil, nil
}

// opaque has the methods of a Source only, transparent also Unwrap.
type (
	opaque      struct{ provider.Source }
	transparent struct{ provider.Source }
)

func (w transparent) Unwrap() provider.Source { return w.Source }

// Structs that have methods of another type, which may not know what they change.
type (
	embedding         struct{ shelf }
	embeddingPointer  struct{ *shelf }
	embeddingAWrapper struct{ transparent }
)

func TestAs(t *testing.T) {
	t.Parallel()
	s := &shelf{name: "inner"}
	for name, test := range map[string]struct {
		source provider.Source
		want   string // name of the catalogue, empty without one
	}{
		"nothing":                      {nil, ""},
		"no catalogue":                 {transparent{opaque{}}, ""},
		"itself":                       {s, "inner"},
		"wrapped twice":                {transparent{transparent{s}}, "inner"},
		"answers are checked":          {provider.CheckAnswers(s), "inner"},
		"evidence is shared":           {provider.ShareEvidence(transparent{s}), "inner"},
		"without Unwrap":               {opaque{s}, ""},
		"without Unwrap, then with it": {transparent{opaque{s}}, ""},
		"with another catalogue":       {transparent{shelf{transparent{s}, "outer"}}, "outer"},
		"embedded":                     {embedding{*s}, ""},
		"embedded by a pointer":        {&embeddingPointer{s}, ""},
		"embedded, then wrapped":       {transparent{embedding{*s}}, ""},
		"in an embedded wrapper":       {embeddingAWrapper{transparent{s}}, ""},
		"wrapper around nothing":       {transparent{}, ""},
	} {
		c, ok := provider.As[provider.Catalogue](test.source)
		got := ""
		switch c := c.(type) {
		case *shelf:
			got = c.name
		case shelf:
			got = c.name
		}
		if ok != (test.want != "") || ok && got != test.want {
			t.Errorf("%s: As[Catalogue] = %q, %t, want %q", name, got, ok, test.want)
		}
	}
}

// counter counts lists. A catalogue is another way to get them.
type counter struct {
	provider.Source
	lists *int
}

func (c counter) Unwrap() provider.Source { return c.Source }

func (c counter) ProviderVersions(ctx context.Context, p addrs.Provider) (*provider.Versions, error) {
	*c.lists++
	return c.Source.ProviderVersions(ctx, p)
}

// catalogue is a counter around a catalogue. It has Unwrap itself, because As does not use methods of embedded structs.
type catalogue struct {
	provider.Source
	provider.Catalogue
	lists *int
}

func (c catalogue) Unwrap() provider.Source { return c.Source }

func (c catalogue) ProviderVersions(ctx context.Context, p addrs.Provider) (*provider.Versions, error) {
	*c.lists++
	return c.Source.ProviderVersions(ctx, p)
}

func (c catalogue) ListedVersions(ctx context.Context, p addrs.Provider) ([]addrs.Version, error) {
	*c.lists++
	return c.Catalogue.ListedVersions(ctx, p)
}

// count returns src with a counter.
func count(src provider.Source, lists *int) provider.Source {
	if c, ok := provider.As[provider.Catalogue](src); ok {
		return catalogue{src, c, lists}
	}
	return counter{src, lists}
}

// A wrapper that counts lists. Around a mirror or a cache it counts those of the catalogue, too.
func ExampleCatalogue() {
	ctx, lists := context.Background(), 0
	src := count(&shelf{}, &lists)
	c, ok := provider.As[provider.Catalogue](src)
	if !ok {
		log.Fatal("the wrapper hides the catalogue")
	}
	if _, err := c.ListedVersions(ctx, addrs.MustParseProvider("acme/alpha")); err != nil {
		log.Fatal(err)
	}
	if _, err := c.ListedArchives(ctx, addrs.MustParseProvider("acme/alpha"), addrs.MustParseVersion("1.0.0")); err != nil {
		log.Fatal(err)
	}
	_, ok = provider.As[provider.Catalogue](count(opaque{}, &lists))
	fmt.Println(lists, ok)
	// Output: 1 false
}
