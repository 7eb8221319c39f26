package s3_test

import (
	"errors"
	"testing"

	"github.com/tofureg/tofureg/contrib/s3"
	"github.com/tofureg/tofureg/module"
)

// asked returns the host that the Fetcher contacts for a location.
func asked(t *testing.T, text string) string {
	t.Helper()
	loc, err := module.ParseLocation(text)
	if err != nil {
		return "" // refused before
	}
	host, stop := "", errors.New("stop")
	f := &s3.Fetcher{Hosts: func(h string) error { host = h; return stop }}
	if _, err := f.FetchModule(t.Context(), loc, t.TempDir(), module.Options{}); !errors.Is(err, stop) {
		host = ""
	}
	return host
}

func TestLocations(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"s3::https://s3.amazonaws.com/bucket/key.zip":               "s3.amazonaws.com",
		"s3::https://s3-eu-west-1.amazonaws.com/bucket/key.zip":     "s3-eu-west-1.amazonaws.com",
		"s3::https://s3.eu-west-1.amazonaws.com/bucket/key.zip":     "s3.eu-west-1.amazonaws.com",
		"s3::https://bucket.s3.eu-west-1.amazonaws.com/key.zip":     "bucket.s3.eu-west-1.amazonaws.com",
		"bucket.s3.amazonaws.com/key.zip":                           "s3.amazonaws.com",
		"s3::https://a.b.s3-eu-west-1.amazonaws.com/dir/key.tar.gz": "a.b.s3-eu-west-1.amazonaws.com",
		"s3::https://s3.amazonaws.com/bucket":                       "",
		"s3::https://s3.amazonaws.com/":                             "",
	} {
		if got := asked(t, text); got != want {
			t.Errorf("%s is fetched from %q, want %q", text, got, want)
		}
	}
}

// FuzzLocation checks that no location makes the Fetcher panic.
func FuzzLocation(f *testing.F) {
	for _, text := range []string{"s3::https://s3.amazonaws.com/bucket/key.zip", "s3::https://x/y/z?region=r&version=v", "s3::https://.s3.amazonaws.com//"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { asked(t, text) })
}
