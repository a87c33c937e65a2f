package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
)

// printCSV prints a line for each report, after one of headings. All have the same
// fields, because they are of one test.
func printCSV(w io.Writer, reports []report) error {
	out := csv.NewWriter(w)
	for i, r := range reports {
		var heads, texts []string
		add := func(head, text string) { heads, texts = append(heads, head), append(texts, text) }
		for _, f := range r.fields() {
			if f.key == "rails" {
				add(f.key, strings.ReplaceAll(carried(r.result.Rails), "\n", "; "))
			} else {
				flatten(f.key, reflect.ValueOf(f.value), add)
			}
		}
		if i == 0 {
			if err := out.Write(heads); err != nil {
				return err
			}
		}
		if err := out.Write(texts); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// flatten adds a value; fields of one get its name before theirs.
func flatten(head string, v reflect.Value, add func(head, text string)) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			flatten(head+"_"+v.Type().Field(i).Tag.Get("json"), v.Field(i), add)
		}
	case reflect.Float64:
		add(head, strconv.FormatFloat(v.Float(), 'f', -1, 64))
	default:
		add(head, fmt.Sprint(v))
	}
}
