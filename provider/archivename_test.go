package provider_test

import (
	"testing"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/provider"
)

func TestParseArchiveName(t *testing.T) {
	t.Parallel()
	const form = "is not of the form terraform-provider-TYPE_VERSION_OS_ARCH.zip"
	for name, want := range map[string]struct{ version, platform, problem string }{
		"terraform-provider-demo_1.2.3_linux_amd64.zip":                                   {"1.2.3", "linux_amd64", ""},
		"Terraform-Provider-DEMO_1.0.0-RC1+Build.7_Linux_AMD64.ZIP":                       {"1.0.0-RC1+Build.7", "linux_amd64", ""},
		"terraform-provider-demo_1.2.3_linux_amd64_extra.zip":                             {problem: form},
		"terraform-provider-demo_1.2.3_linux_amd64_.zip":                                  {problem: form},
		"terraform-provider-demo_1.2.3_linux.zip":                                         {problem: form},
		"terraform-provider-.zip":                                                         {problem: form},
		"terraform-provider-other_1.2.3_linux_amd64.zip":                                  {problem: "is of another provider"},
		"terraform-provider-demo_latest_linux_amd64.zip":                                  {problem: "has an invalid version"},
		"terraform-provider-demo_1.2.3_linux_.zip":                                        {problem: "has an invalid platform"},
		"terraform-provider-demo_1.2.3_linux_amd64.record.json":                           {},
		"opentofu-provider-demo_1.2.3_linux_amd64.zip":                                    {},
		"terraform-provider.zip":                                                          {},
		"":                                                                                {},
		provider.ArchiveName(demo, v123, linux):                                           {"1.2.3", "linux_amd64", ""},
		provider.ArchiveName(demo, v123, linux) + provider.ArchiveName(demo, v123, linux): {problem: form},
	} {
		v, platform, problem := provider.ParseArchiveName(demo, name)
		if v.String() != want.version || platform.String() != want.platform || problem != want.problem {
			t.Errorf("ParseArchiveName(%q) is %q, %q, %q, want %+v", name, v, platform, problem, want)
		}
	}
}

func FuzzParseArchiveName(f *testing.F) {
	f.Add(provider.ArchiveName(demo, v123, linux))
	f.Add("terraform-provider-demo_1.2.3_linux_amd64_extra.zip")
	f.Fuzz(func(t *testing.T, name string) {
		v, platform, problem := provider.ParseArchiveName(demo, name)
		if (v == addrs.Version{}) != (platform == addrs.Platform{}) || problem != "" && !v.IsZero() {
			t.Fatalf("ParseArchiveName(%q) is %q, %q, %q", name, v, platform, problem)
		}
		if v.IsZero() {
			return
		}
		if v2, p2, _ := provider.ParseArchiveName(demo, provider.ArchiveName(demo, v, platform)); v2 != v || p2 != platform {
			t.Errorf("the name of %s %s is read as %s %s", v, platform, v2, p2)
		}
	})
}
