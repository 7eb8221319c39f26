package mirrorserve_test

import (
	"strings"
	"testing"

	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/serve/internal/mirrortest"
	"github.com/tofureg/tofureg/serve/mirrordir"
)

// What the tests of mirrordir and mirrorserve share.
var (
	alpha, v1, v2              = mirrortest.Alpha, mirrortest.V1, mirrortest.V2
	linux, darwin, windows     = mirrortest.Linux, mirrortest.Darwin, mirrortest.Windows
	three                      = mirrortest.Three
	newRegistry, client, names = mirrortest.NewRegistry, mirrortest.Client, mirrortest.Names
	wants, manyVersions        = mirrortest.Wants, mirrortest.ManyVersions
	policyOf                   = mirrortest.PolicyOf
	newMirror, open, filled    = mirrortest.NewMirror, mirrortest.Open, mirrortest.Filled
	mustAdd, mustCheck         = mirrortest.MustAdd, mirrortest.MustCheck
	write, read                = mirrortest.Write, mirrortest.Read
	files, wantFiles           = mirrortest.Files, mirrortest.WantFiles
	archive, recordOf          = mirrortest.Archive, mirrortest.RecordOf
	growing, wantOnly          = mirrortest.Growing, mirrortest.WantOnly
)

const home = mirrortest.Home

type (
	document = mirrortest.Document
	index    = mirrortest.Index
	bucket   = mirrortest.Bucket
	failing  = mirrortest.Failing
	mistaken = mirrortest.Mistaken
)

// all returns the elements of Mirror.All as text.
func all(t *testing.T, m *mirrordir.Mirror) (list []string) {
	t.Helper()
	for w, err := range m.All(t.Context()) {
		must.Do(t, err)
		list = append(list, w.String()+" "+strings.Join(names(w.Platforms), " "))
	}
	return list
}
