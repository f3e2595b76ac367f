/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_CHAIN_LAYOUT_H
#define DP_BPF_CHAIN_LAYOUT_H

/*
 * Runtimes that keep a thread's frames in a list or an array, which a variable leads to: where that is
 * and what a frame has. Part of abi.h.
 */

/* Offsets are those of members. `or 0`: one more than the offset; 0: there is none. */
struct dp_chain {
	__u64 variable; /* its address in the file; with a place, a dp_tls.value */
	__u32 place;    /* enum dp_tls_kind */
	/* In the structure that the variable leads to */
	__u32 first;       /* the innermost frame; or 0: the variable leads to the frame itself */
	__u32 stack;       /* of an array of frames: its start */
	__u32 stack_words; /* and its number of words */
	/* In a frame */
	__u32 frame_size; /* as far as it is read */
	__u32 stride;     /* of an array: from a frame to its caller; 0: it is a list */
	__u32 next;       /* of a list: its caller */
	__u32 code;       /* what identifies its function; 0 there: it has none that is named */
	__u32 position;   /* where it is in that */
	__u32 flags;      /* its flags, or with flags_far, their address */
	__u32 flags_far;
	/* Of those flags */
	__u32 entry;   /* the frame enters an evaluation loop */
	__u32 skip;    /* any of these: it is of a function in C, and not sent */
	__u32 kind;    /* these say what kind the frame is; 0: all are of one */
	__u32 no_kind; /* the kind that stands for nothing, and is not sent */
	/* In a function */
	__u32 native; /* its first byte if it is native code; 0: none is */
	__u32 tagged; /* the address of what has the two words that identify it; or 0: it has them itself */
	__u32 tags[2]; /* these words */
	/* Functions in C, whose frames have no `code`, but a method, of which the number is sent */
	__u32 c_kind;       /* the kind of their frames */
	__u64 c_names;      /* in the file: what has the names by number; 0: they are not sent */
	__u32 c_method;     /* from a frame's flags back to its method */
	__u32 c_type_mask;  /* the bits of a method's first word that say that it is one, */
	__u32 c_type;       /* if they have this value */
	__u32 c_definition; /* in a method: the address of its definition */
	__u32 c_name;       /* in a definition: the number */
	__u32 fleeting;     /* in the second half of a function's first word: it may be gone soon */
	/*
	 * Or 0. A function whose first tag, its name, is 0 may be gone soon, too; what stays is a string,
	 * its file, that it has here. Its second tag is the address of its instructions.
	 */
	__u32 file;
	__u32 hash;       /* in a string, before its size and its text; 0 there: not known */
	__u32 n_steps;    /* in a function: the number of its instructions */
	__u32 first_line; /* in a function */
	__u32 step_size;  /* of an instruction */
	__u32 step_line;  /* in an instruction */
	__u32 scope;      /* in a function: its class */
	__u32 class_name; /* in a class */
	__u32 machine; /* in the structure that the variable leads to: where its own stack begins; or 0 */
	__u32 zero;
};

/*
 * Marks in the code of a function that may be gone soon. Its frame has its line in place of the
 * position, and a tag of what is shown of it: at the same address there may be another one already.
 */
/* It has no name: the address is that of its file, and the tag the hash. */
#define DP_CHAIN_FILE 1ULL
/* It has one: the tag is of that hash and those of the texts of its name and its class's. */
#define DP_CHAIN_LINE 2ULL
/* The string does not have its hash: it is that of its text. */
#define DP_CHAIN_TEXT 4ULL
#define DP_CHAIN_MARKS 7ULL

/* As far as a text is read; no more of it is shown. */
#define DP_CHAIN_TEXT_SIZE 255
#define DP_CHAIN_TEXT_WORDS ((DP_CHAIN_TEXT_SIZE + 1) / 8)

#define DP_CHAIN_FACTOR 0x9e3779b97f4a7c15ULL

/* Tells apart functions that follow each other at the same address. */
static inline __u64 chain_tag(__u64 first, __u64 second)
{
	return first + second * DP_CHAIN_FACTOR;
}

/*
 * Makes the hash of a text from its size and each of the words that are read, of which what is behind it has
 * zeros.
 */
static inline __u64 chain_hash(__u64 hash, __u64 word)
{
	hash = (hash ^ word) * DP_CHAIN_FACTOR;
	return hash ^ hash >> 32; /* a product carries upwards only */
}

/* What user space needs besides, to name Ruby's functions. */
struct dp_ruby_names {
	__u32 version; /* major << 8 | minor */
	__u32 body;    /* in an iseq: its body. In that: */
	__u32 size;    /* number of words of its instructions, and they */
	__u32 instructions;
	__u32 path;
	__u32 label;
	__u32 lines; /* what has lines, their number, and which one a position has */
	__u32 n_lines;
	__u32 index;
	__u32 line_size; /* of what has a line, which begins with it */
	__u32 string_size;
	__u32 last_operator; /* numbers of names up to this one are these of their texts; */
	__u32 number_shift;  /* others' are shifted */
	__u32 first_names;   /* number of the texts that there are from the beginning, */
	__u32 texts;         /* and in what has the names, the array of arrays of all */
	__u32 error;         /* in a thread's context: what rb_errinfo() returns */
	__u32 zero;
};

/* And PHP's. */
struct dp_php_names {
	__u32 api; /* ZEND_MODULE_API_NO */
	__u32 function; /* in a function: its name, class, file, first line, instructions and their number */
	__u32 scope;
	__u32 file;
	__u32 first_line;
	__u32 instructions;
	__u32 n_instructions;
	__u32 instruction_size;
	__u32 line;        /* in an instruction */
	__u32 class_name;  /* in a class */
	__u32 string_size; /* in a string: its number of bytes, and they */
	__u32 string_text;
};

#endif
