variable "s" {
  default = "x"
}
variable "number" {
  type    = number
  default = 1.10
}
variable "number_as_text" {
  type    = string
  default = 1.10
}
variable "text_as_number" {
  type    = number
  default = "1.50e3"
}
variable "text_as_bool" {
  type    = bool
  default = "1"
}
variable "null" {
  type    = string
  default = null
}
variable "not_null" {
  type     = string
  nullable = false
  default  = "kept"
}
variable "given" {
  default = "default"
}
variable "given_number" {
  type = number
}
variable "object" {
  type = object({
    r = string
    a = optional(string, "m")
    b = optional(object({ c = optional(number, 3), d = optional(string), e = optional(bool, "true") }), {})
    l = optional(list(string), ["p", 2])
    n = optional(string)
    f = optional(map(object({ g = optional(string, "h") })), { i = {} })
  })
  default = { r = "R", extra = 1 }
}
variable "partial" {
  type    = object({ a = optional(string, "A"), b = optional(object({ c = optional(string, "C") })) })
  default = { a = null, b = { c = null } }
}
variable "map" {
  type    = map(string)
  default = { a = 1, b = true }
}
variable "map_of_any" {
  type    = map(any)
  default = { a = 1, b = "two" }
}
variable "list_of_objects" {
  type    = list(object({ k = string, v = optional(string, "V") }))
  default = [{ k = 1 }, { k = "2", v = null, w = 1 }, { k = "3", v = "w" }]
}
variable "tuple" {
  type    = tuple([string, number])
  default = [1, "2.50"]
}
variable "set" {
  type    = set(string)
  default = ["b", "a"]
}
variable "legacy_list" {
  type    = list
  default = ["l0", "l1"]
}
variable "legacy_map" {
  type    = map
  default = { a = "m" }
}
variable "any" {
  type    = any
  default = { a = [{ b = "deep" }] }
}
variable "secret" {
  default   = "hidden"
  sensitive = true
}
variable "secrets" {
  default   = { a = "hidden" }
  sensitive = true
}
variable "unset" {
}
variable "wrong_type" {
  type    = list(string)
  default = []
}
locals {
  object = {
    a       = "m"
    "b c"   = "quoted"
    (var.s) = "named"
    1       = "one"
    null    = "word"
    a       = "last"
    deep    = { list = [{ x = "found" }, "second"] }
  }
  partly = {
    a    = "b"
    bad  = data.no.thing.id
    self = local.partly
  }
  list     = ["zero", "one", ["two"]]
  flag     = var.s == "x"
  number   = local.flag ? 3 : 1
  mixed    = local.flag ? 3 : "1"
  chosen   = local.flag ? { a = 1 } : { a = "b" }
  heredoc  = <<-EOT
    a-${var.s}%{if local.flag}-yes%{else}-no%{endif}
  EOT
  combined = "e${"\u0301"}"
  loop     = local.loop2
  loop2    = local.loop
  hidden   = "${var.secret}-x"
}
