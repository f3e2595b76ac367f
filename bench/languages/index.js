// SPDX-License-Identifier: Apache-2.0
// What bench/language_programs.py packs: the modules of a usual site.
import * as d3 from 'd3';
import * as dates from 'date-fns';
import * as lodash from 'lodash-es';
import React from 'react';
import { createRoot } from 'react-dom/client';
import * as rxjs from 'rxjs';
import * as three from 'three';

const modules = { d3, dates, lodash, rxjs, three };
const sizes = Object.keys(modules).map((name) => `${name}: ${Object.keys(modules[name]).length}`);
createRoot(document.body).render(React.createElement('p', null, sizes.join(', ')));
