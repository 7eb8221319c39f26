package cliconfig_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/cliconfig"
	"github.com/tofureg/tofureg/cooldown"
	"github.com/tofureg/tofureg/internal/testing/casetest"
	"github.com/tofureg/tofureg/internal/testing/must"
	"github.com/tofureg/tofureg/module"
	"github.com/tofureg/tofureg/provider"
	"github.com/tofureg/tofureg/regclient"
	"github.com/tofureg/tofureg/testkit/regtest"
)

// The rules of this file are those of OpenTofu's rfc/20260807-module-dependency-cooldown.md.

// TestModuleCooldown: without a block, or a period in it, there is no rule. A pattern that matches no registry holds back nothing.
func TestModuleCooldown(t *testing.T) {
	t.Parallel()
	const week = `module_installation {
  direct {
    cooldown_period = "7d"
`
	for name, test := range map[string]struct {
		config string
		age    time.Duration
		held   bool // whether a module of registry.example.com that is a day old is held back
	}{
		"no block":          {"", 0, false},
		"empty":             {"module_installation {}", 0, false},
		"no period":         {"module_installation {\n  direct {\n    include = [\"*/*/*/*\"]\n  }\n}", 0, false},
		"zero":              {"module_installation {\n  direct {\n    cooldown_period = \"0s\"\n  }\n}", 0, false},
		"week":              {week + "}\n}", 7 * 24 * time.Hour, true},
		"of another host":   {week + "include = [\"registry.opentofu.org/*/*/*\"]\n}\n}", 7 * 24 * time.Hour, false},
		"of this host":      {week + "include = [\"registry.opentofu.org/*/*/*\", \"registry.example.com/*/*/*\"]\n}\n}", 7 * 24 * time.Hour, true},
		"not of the module": {week + "exclude = [\"registry.example.com/acme/network/aws\"]\n}\n}", 7 * 24 * time.Hour, false},
		"day":               {"module_installation {\n  direct {\n    cooldown_period = \"24h\"\n  }\n}", 24 * time.Hour, false},
		"a minute more":     {"module_installation {\n  direct {\n    cooldown_period = \"1441m\"\n  }\n}", 24*time.Hour + time.Minute, true},
		"JSON":              {`{"module_installation": {"direct": {"cooldown_period": "7d", "include": ["*/*/*/*"]}}}`, 7 * 24 * time.Hour, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := ".tofurc"
			if strings.HasPrefix(test.config, "{") {
				file = ".terraform.d/x.tfrc.json"
			}
			cfg := load(t, home(t, map[string]string{file: test.config}))
			synctest.Test(t, func(t *testing.T) {
				reg := regtest.New("registry.example.com")
				reg.AddModule(regtest.Module{Address: "acme/network/aws", Discovered: time.Now().Add(-24 * time.Hour).Format(time.RFC3339)})
				cfg.HTTP = reg.Client()
				if rule := cfg.ModuleCooldown(); rule == nil && test.age > 0 || rule != nil && rule.Age != test.age {
					t.Errorf("the rule is %+v, want the age %v", rule, test.age)
				}
				if _, ok := cfg.ModuleSource().(*regclient.Client); ok != (test.age == 0) {
					t.Errorf("the source is a %T", cfg.ModuleSource())
				}
				list := must.Get(cfg.ModuleSource().ModuleVersions(t.Context(), addrs.MustParseModule("registry.example.com/acme/network/aws")))(t)
				if _, err := list.Newest(addrs.ModuleConstraint{}); errors.As(err, new(*module.HeldError)) != test.held || (err != nil) != test.held {
					t.Errorf("Newest returned %v, held is %v", err, test.held)
				}
			})
			if warnings := cfg.Warnings(); len(warnings) > 0 {
				t.Errorf("warnings: %v", warnings)
			}
		})
	}
	// Terraform has no such proposal.
	sys := home(t, map[string]string{".terraformrc": week + "}\n}"})
	sys.Terraform = true
	if cfg := load(t, sys); cfg.ModuleCooldown() != nil || len(cfg.Warnings()) != 1 {
		t.Errorf("for Terraform the rule is %v, with warnings %v", cfg.ModuleCooldown(), cfg.Warnings())
	}
}

// TestModuleCooldownRefuses: mistakes are errors with their place.
func TestModuleCooldownRefuses(t *testing.T) {
	t.Parallel()
	for config, want := range casetest.Pairs(t, "tables/modules-refused.txt") {
		_, err := cliconfig.Load(t.Context(), home(t, map[string]string{".tofurc": config}))
		if e, ok := errors.AsType[*cliconfig.Error](err); !ok || len(e.Unwrap()) != 1 || !strings.Contains(err.Error(), want) {
			t.Errorf("Load of\n%s\nreturned %v, want %s", config, err, want)
		}
	}
	cfg := load(t, home(t, map[string]string{".tofurc": "module_installation {\n  direct {\n    cool = 1\n  }\n}"}))
	if len(cfg.Warnings()) != 1 || !strings.Contains(cfg.Warnings()[0].Error(), `unknown argument "cool"`) {
		t.Errorf("warnings: %v", cfg.Warnings())
	}
}

// TestProviderCooldown: the field Cooldown is a rule for providers of all methods. Without it there is none.
func TestProviderCooldown(t *testing.T) {
	t.Parallel()
	reg := registryOf(alpha)
	for _, rule := range []*cooldown.Providers{nil, {Rule: cooldown.Rule{Age: time.Hour}}} {
		cfg := load(t, home(t, nil))
		cfg.HTTP, cfg.Cooldown = reg.Client(), rule
		_, err := get(t, cfg, alpha)
		if held := errors.As(err, new(*provider.HeldError)); held != (rule != nil) || (err != nil) != held {
			t.Errorf("with the rule %v: %v", rule, err)
		}
		_, err = provider.Find(t.Context(), cfg.Installer(t.TempDir()).Source, alpha, addrs.ProviderConstraint{}, provider.Need{})
		if held := errors.As(err, new(*provider.HeldError)); held != (rule != nil) {
			t.Errorf("with the rule %v, the source of an Installer: %v", rule, err)
		}
	}
}
