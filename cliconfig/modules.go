package cliconfig

import (
	"strings"

	"github.com/tofureg/tofureg/cooldown"
	"github.com/tofureg/tofureg/module"
)

// ModuleSource returns [Config.ModuleCooldown] or, if nil, [Config.Registry].
func (c *Config) ModuleSource() module.Source {
	if rule := c.ModuleCooldown(); rule != nil {
		return rule
	}
	return c.Registry()
}

// ModuleCooldown returns a new source with the rule of the block module_installation for [Config.Registry], or nil
// without a cooldown_period. The caller can set its Dates and Permit:
//
//	module_installation {
//	  direct {
//	    cooldown_period = "7d"
//	    include         = ["registry.opentofu.org/*/*/*"]
//	  }
//	}
//
// No CLI has this [proposal] for OpenTofu yet. It is ignored for Terraform.
//
// [proposal]: https://github.com/opentofu/opentofu/pull/4444
func (c *Config) ModuleCooldown() *cooldown.Modules {
	in := c.settings().modules
	if in == nil || in.cooldown.Age == 0 {
		return nil
	}
	rule := in.cooldown
	rule.Source = c.Registry()
	return &rule
}

// A moduleInstallation is the content of a block module_installation.
type moduleInstallation struct {
	place    Place
	direct   bool // there is a block direct
	cooldown cooldown.Modules
}

func (r *fileReader) moduleInstallation(it item) {
	if !r.isBlock(it) {
		return
	}
	if first := r.set.modules; first != nil {
		r.errorf(it.at(), "a second block \"module_installation\"; the first one is at %s", first.place)
		return
	}
	in := &moduleInstallation{place: r.place(it.at())}
	r.set.modules = in
	for _, method := range it.value.body {
		switch {
		case !r.isBlock(method):
		case method.name() != direct:
			r.errorf(method.at(), "unknown installation method %s", quote(method.name()))
		case in.direct:
			r.errorf(method.at(), "a second block \"direct\"")
		default:
			in.direct = true
			r.moduleDirect(&in.cooldown, method)
		}
	}
}

func (r *fileReader) moduleDirect(rule *cooldown.Modules, it item) {
	aged := false
	for _, arg := range it.value.body {
		switch strings.ToLower(arg.name()) {
		case "include":
			rule.Include = append(rule.Include, r.modulePatterns(arg)...)
		case "exclude":
			rule.Exclude = append(rule.Exclude, r.modulePatterns(arg)...)
		case "cooldown_period":
			if aged { // the second may weaken the first
				r.errorf(arg.at(), "a second \"cooldown_period\"")
				continue
			}
			aged = true
			if text, ok := r.text(arg); ok {
				var err error
				if rule.Age, err = cooldown.ParseAge(text); err != nil {
					r.problems.fail(r.place(arg.value.at), err)
				}
			}
		default:
			r.unknown(arg, it.name())
		}
	}
}

func (r *fileReader) modulePatterns(it item) (patterns []module.Pattern) {
	for _, e := range r.texts(it) {
		p, err := module.ParsePattern(e.text)
		if err != nil {
			r.problems.fail(r.place(e.at), err)
			continue
		}
		patterns = append(patterns, p)
	}
	return patterns
}
