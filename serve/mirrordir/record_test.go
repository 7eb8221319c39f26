package mirrordir_test

import (
	"path"
	"strings"
	"testing"

	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/serve/mirrordir"
)

// TestRecordIsNoArchive: no program that looks for archives in one of the usual ways takes a record for one, and
// each archive has its own record.
func TestRecordIsNoArchive(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, archive := range []string{
		home + "/terraform-provider-alpha_1.0.0_linux_amd64.zip", home + "/terraform-provider-alpha_1.0.0-rc.1+build.5_linux_amd64.zip",
		home + "/terraform-provider-alpha_v1.0.0_linux_amd64.zip", home + "/Terraform-Provider-Alpha_1.0.0_Linux_AMD64.zip",
		home + "/terraform-provider-alpha_1.0.0_linux_amd64.ZIP", "a/b_c/d/terraform-provider-d_1.0.0_linux_amd64.zip",
	} {
		record := mirrordir.RecordName(archive)
		name := path.Base(record)
		if path.Dir(record) != path.Dir(archive) {
			t.Errorf("the record of %s is %s, want it beside the archive", archive, record)
		}
		if of, ok := mirrordir.RecordedArchive(record); !ok || of != archive || seen[record] != "" {
			t.Errorf("the record %s of %s is that of %q (%t) and %q", record, archive, of, ok, seen[record])
		}
		if of, ok := mirrordir.RecordedArchive(archive); ok {
			t.Errorf("the archive %s is taken for a record of %s", archive, of)
		}
		seen[record] = archive
		if v, _, err := provider.ParseArchiveName(alpha, name); err == nil || strings.HasPrefix(err.Error(), "invalid") {
			t.Errorf("ParseArchiveName(%s) = %s, %v; want that it is another file", name, v, err)
		}
		for how, is := range map[string]bool{
			"its first word":           strings.HasPrefix(strings.ToLower(name), "terraform-provider-"),
			"its suffix":               strings.HasSuffix(name, ".zip"),
			".zip in it":               strings.Contains(name, ".zip"),
			"four parts of it":         len(strings.Split(strings.TrimSuffix(strings.TrimPrefix(name, "terraform-provider-"), ".zip"), "_")) == 4,
			"the name of a document":   name == "index.json",
			"the version of a package": strings.Count(name, "_") == 0,
		} {
			if is {
				t.Errorf("a program takes %s for an archive or a document by %s", name, how)
			}
		}
	}
}
